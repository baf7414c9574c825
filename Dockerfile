# A GPU host's image: the project, its launchers' engines, and one environment per compiler's lock.
#
# Checked by a linter and by tests (every step that is ours is a target of the Makefile); CI has no Docker, so it has
# not been built there.
#
#   docker build -t tensor-assets .                                  # without NVIDIA's profilers
#   docker build -t tensor-assets --build-arg PROFILERS=1 .          # with Nsight Compute and Systems, and CUPTI
#
# Run it (the host needs NVIDIA's driver and container toolkit). Without a command it says what is wrong and how to mend
# it. Evidence, the site and Dagster's instance go to one volume; the lease folder is the host's own, so that containers
# and everybody else on the host take turns at the GPU:
#
#   mkdir -p -m 1777 /run/lock/tensor_assets && docker volume create tensor-assets
#   run="docker run --rm --gpus all --init -v tensor-assets:/data -v /run/lock/tensor_assets:/run/lock/tensor_assets"
#   $run tensor-assets                                               # tensor-assets doctor
#   $run tensor-assets tensor-assets report --suite matrix           # captures, timings, and the site in /data/site
#   $run --network host tensor-assets tensor-assets ui               # Dagster's UI on the host's 127.0.0.1:3000
#
# Counters: add --cap-add SYS_ADMIN, or allow every user to read them on the host (`tensor-assets doctor` tells).

ARG BASE=nvidia/cuda:13.0.1-base-ubuntu24.04
ARG PROFILERS=0

FROM ${BASE} AS system
SHELL ["/bin/bash", "-euo", "pipefail", "-c"]
# What compilers call (the "system" entries of adapters/*/adapter.json), and git for `tensor-assets publish`.
# hadolint ignore=DL3008
RUN apt-get update \
 && apt-get install -y --no-install-recommends binutils ca-certificates clang g++ git make python3 python3-dev python3-venv \
 && rm -rf /var/lib/apt/lists/*
RUN useradd --uid 10001 --create-home --shell /bin/bash assets \
 && install -d -o assets /app /data /opt/tensor_assets
ENV TENSOR_ASSETS_CACHE=/opt/tensor_assets SYSTEM_PACKAGES=0
USER 10001
WORKDIR /app

# The project as `make` sets it up, with the launchers for Ray, Kubernetes and Docker.
FROM system AS project
COPY --chown=10001 pyproject.toml README.md Makefile dagster.yaml workspace.yaml ./
COPY --chown=10001 .ci .ci
COPY --chown=10001 tensor_assets tensor_assets
COPY --chown=10001 adapters/worker adapters/worker
RUN make engines

# One stage a lock: they build side by side, and a new lock rebuilds its own alone.
FROM project AS tinygrad
COPY --chown=10001 adapters/tinygrad adapters/tinygrad
RUN make environment COMPILER=tinygrad

FROM project AS luminal
COPY --chown=10001 adapters/luminal adapters/luminal
RUN make environment COMPILER=luminal

FROM project AS max
COPY --chown=10001 adapters/max adapters/max
RUN make environment COMPILER=max

FROM project AS tvm
COPY --chown=10001 adapters/tvm adapters/tvm
RUN make environment COMPILER=tvm

# Inductor, eager and Triton have one lock, so one environment.
FROM project AS torch
COPY --chown=10001 adapters/inductor adapters/inductor
COPY --chown=10001 adapters/eager adapters/eager
COPY --chown=10001 adapters/triton adapters/triton
RUN make environment COMPILER="inductor eager triton"

FROM project AS profilers-0
RUN mkdir -p /opt/tensor_assets/profilers

FROM project AS profilers-1
RUN make profilers

FROM project AS image-0

FROM project AS image-1
USER 0
# From NVIDIA's own package source, which its base image has configured.
# hadolint ignore=DL3008
RUN apt-get update \
 && apt-get install -y --no-install-recommends cuda-nsight-compute-13-0 cuda-nsight-systems-13-0 \
 && rm -rf /var/lib/apt/lists/*
USER 10001

# hadolint ignore=DL3006
FROM profilers-${PROFILERS} AS profilers
# hadolint ignore=DL3006
FROM image-${PROFILERS} AS image
WORKDIR /app
COPY --chown=10001 adapters adapters
COPY --chown=10001 fixtures fixtures
COPY --chown=10001 site site
COPY --from=tinygrad --chown=10001 /opt/tensor_assets/environments /opt/tensor_assets/environments
COPY --from=luminal --chown=10001 /opt/tensor_assets/environments /opt/tensor_assets/environments
COPY --from=max --chown=10001 /opt/tensor_assets/environments /opt/tensor_assets/environments
COPY --from=tvm --chown=10001 /opt/tensor_assets/environments /opt/tensor_assets/environments
COPY --from=torch --chown=10001 /opt/tensor_assets/environments /opt/tensor_assets/environments
COPY --from=profilers --chown=10001 /opt/tensor_assets/profilers /opt/tensor_assets/profilers
ENV PATH=/app/.venv/bin:${PATH} \
    TENSOR_ASSETS_TARGET=cuda \
    TENSOR_ASSETS_STORE=/data/store \
    TENSOR_ASSETS_SITE=/data/site \
    TENSOR_ASSETS_LEASE=/run/lock/tensor_assets \
    TENSOR_WORKER_CUPTI=/opt/tensor_assets/profilers \
    DAGSTER_HOME=/data/dagster \
    NVIDIA_DRIVER_CAPABILITIES=compute,utility
VOLUME /data
# No entry point: launchers give a whole command of their own.
CMD ["tensor-assets", "doctor"]
