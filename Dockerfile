# The image of the loop. By policy of the manifests beside it: a numeric user without rights, a root file system that nobody
# writes to (/tmp and the git cache are volumes). The base is what this digest names, whatever its tag says later; to renew it, in
# one line that both stages take (it is an index, of all platforms):
#   docker buildx imagetools inspect python:3.13-slim-trixie --format '{{.Manifest.Digest}}'
ARG BASE=python:3.13-slim-trixie@sha256:9d2e5553305c7c7b0097999bb17187c69b921ccd6bc9d40e4bb5ebe652c00285

FROM ${BASE} AS build
# A compiler, for the kernels: without it they would run interpreted. It does not reach the image below.
RUN apt-get update && apt-get install --yes --no-install-recommends gcc libc6-dev && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY .ci/locks ./.ci/locks
# By their hashes, so that what is installed is what was locked; then the product alone, of these sources.
RUN python -I -m venv /opt/reconciler \
    && /opt/reconciler/bin/python -I -m pip install --no-cache-dir --no-deps --require-hashes --only-binary :all: \
        --requirement .ci/locks/build.txt --requirement .ci/locks/image.txt
COPY pyproject.toml README.md LICENSE ./
COPY reconciler ./reconciler
RUN /opt/reconciler/bin/python -I -m pip install --no-cache-dir --no-deps --no-index --no-build-isolation . \
    && /opt/reconciler/bin/python -I -m pip uninstall --quiet --yes cython setuptools
# A failed compilation is no error of the installation, but it is one of the image.
WORKDIR /
RUN /opt/reconciler/bin/python -c "from reconciler.scheduling.kernels import active_build; assert active_build() == 'compiled', active_build()"

FROM ${BASE}
# git follows policies, ssh reaches private repositories (and wants its user to have a name), gpg checks signed commits.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates git gnupg openssh-client \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 65532 --user-group --no-create-home --home-dir /tmp --shell /usr/sbin/nologin reconciler
COPY --from=build /opt/reconciler /opt/reconciler
ENV PATH=/opt/reconciler/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
USER 65532:65532
WORKDIR /tmp
EXPOSE 8080
ENTRYPOINT ["reconciler"]
CMD ["--help"]
