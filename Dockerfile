# The service as a container image: one static binary, no shell, not run as root.
#
#   docker build --build-arg VERSION="$(git describe --tags --always)" -t accession .

FROM golang:1.26-bookworm AS build
# The image sets GOTOOLCHAIN=local, which ignores the toolchain line of go.mod.
ENV GOTOOLCHAIN=auto CGO_ENABLED=0
WORKDIR /src
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
# Copied one by one, to leave out data directories and binaries.
COPY domain ./domain
COPY eventstore ./eventstore
COPY projections ./projections
COPY migrations ./migrations
COPY internal ./internal
COPY cmd ./cmd
COPY deploy ./deploy
COPY docs ./docs
ARG VERSION=unknown
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    go build -trimpath \
      -ldflags "-s -w -X github.com/accession-ingest/accession/cmd/internal/cli.Version=${VERSION}" \
      -o /out/accession ./cmd/accession \
 && mkdir /out/data /out/drop

# Only the program and the CA certificates it trusts.
FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /out/accession /usr/local/bin/accession
COPY --from=build --chown=65532:65532 /out/data /var/lib/accession
COPY --from=build --chown=65532:65532 /out/drop /var/lib/accession-drop
VOLUME /var/lib/accession /var/lib/accession-drop
WORKDIR /var/lib/accession
USER 65532:65532
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
    CMD ["/usr/local/bin/accession", "status"]
ENTRYPOINT ["/usr/local/bin/accession"]
CMD ["serve"]
