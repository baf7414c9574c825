"""Group ``publish``: the site put where readers are. In no job and no schedule: somebody asks for it, each time."""

import dagster as dg
from pydantic import Field

from tensor_assets.defs.resources import WorkspaceResource


class PublishConfig(dg.Config):
    to: str = Field(description="A folder, git+REPOSITORY#BRANCH, or an fsspec URL such as s3://bucket/site.")
    apply: bool = Field(default=False, description="Publish; otherwise only find out what that would change.")


@dg.asset(group_name="publish", kinds={"html"}, deps=["site"])
def published_site(config: PublishConfig, workspace: WorkspaceResource) -> dg.MaterializeResult:
    """The built site at its readers' place, old versions beside it; a dry run that lists changes unless told to apply.

    The same as ``tensor-assets publish``: the scan for anything private runs first and refuses.
    """
    from tensor_assets.campaign.publication import publish_site
    from tensor_assets.commands.publish import lines

    plan = publish_site(workspace.open(), config.to, dry_run=not config.apply)
    return dg.MaterializeResult(
        metadata={
            "target": plan.target,
            "version": plan.version.name,
            "published": config.apply,
            "added": len(plan.of("added")),
            "changed": len(plan.of("changed")),
            "removed": len(plan.of("removed")),
            "bytes": plan.bytes,
            "versions": len(plan.publication.versions),
            "plan": dg.MetadataValue.md("\n".join(f"    {line}" for line in lines(plan, dry_run=not config.apply))),
        }
    )


ASSETS = [published_site]
