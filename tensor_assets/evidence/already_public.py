"""Files that were published with this project before the check read what is spelled in numbers.

They are PTX of Inductor in the bundles of ``fixtures/recorded``: in their debug sections stands the scratch folder of a
rented machine, and nothing of anybody. Each was looked at; nothing else is excused, and what is captured now has such a
folder overwritten before it is kept.
"""

from __future__ import annotations

ALREADY_PUBLIC = frozenset(
    {
        "01d372056cb3fa08f9b62fac6c02bfda1257614c33e5856e730a3ae979b8fc55",
        "0364608333d53ebcdd916547e8ed5e49b1c633d918b602f733e60d15bd8b71ad",
        "0391aea2d2b3234ea9d77554da882e980e91689550beab6148c58df9fa5eff86",
        "0bbc9207f70b6da1351fbe53cbe4566af1fd0e3e0bab9f971f02271be6785da6",
        "15ae4eea13d743620a0d1898b158a16569e5ed873f2ea094b53739e8d69fa3eb",
        "228d29855fe498c6db66e323a27259fa73a26f2978c38968c4504a9854cdb8cd",
        "2e75260b05897e66d925b58477316bd2317ce55260dfc5eb5c22a0572e694f5e",
        "37c90e53f6a0f0e8828ab5b1ae83183a55905b89ea18024727877fc5c78f19e8",
        "4e7338a4360c4ccecd063fa35f8360fba90ab2dba64e1b521e345e2474bb9181",
        "5a2c03ce6c84956e3368393bce1b246ef5613deb6daeed096d20404f7929d4e3",
        "63d95e9fd36e2233839b467027875e92d53142f33ee935f1c7e21d50d521d3c9",
        "69e7d42572d46558d0e779dfec02119e0999f6872117be588b39ef2f5588d388",
        "78741f9925051d470eac96f815c36b1e334a7364ea77114576c6eefc7b251520",
        "79174e7da9e7bc9605e71d023e731427f3a037d6ec7889ab7cb9dedadbddc378",
        "850fae9fbe1f08a7b8662147fac601530958eebadcd3c272bdeac4a7fb86c486",
        "8e9bfcb6a16b022466672d010fc9f9a941bdee849a1c0948f1a922e8c289dfb9",
        "8f1a77c44090a09853e0aa33184328fed654aebfea7b256c8230668e607df4ac",
        "934119b060cf0db0335bb16b1be25a059a37ac15bd31150e9a137dd4189b8e2b",
        "94cd35395fc481518a0d9c28b53eb8ac5f19cde7bc86a3cab7b7f84793a46a13",
        "9f502cb72e04fc19921582af33bf5387825446dd8272bd032d52de933480f389",
        "b14445b3c57d8242ae649cd42d42265936604dfb3318cad83d0ecefe6b2661f4",
        "b6c9139998cd4379bb70c61c7d359b5912e6930a059aa5419bdcfd6c1760fcb0",
        "be60105832d5f1cacaf57e91035bf834bade43611b26914a33d2fe3cab9355e3",
        "c939d2100014023248238ab6c36a880f63b5e0766fdecc9cc955117a99edbf4d",
        "d63c417e84f208cd300547086545924dd23e7b0e1171df264e8e046d981efd0e",
        "df02d5b7fdd3b46b3b869f455fd98b0cb45145f1ff43a037b2cf790e2677aad1",
        "e1bcffd2c2494c79ef52937df0b984e96cf1a3675d07c6f38f18a02e373176bc",
    }
)
