# omoi in one image: api, worker and migrate are commands of the same binary, and the
# agents for both architectures are inside.
FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN make release RELEASE_PLATFORMS="$(go env GOOS)-$(go env GOARCH)" && tar -xzf dist/omoi-*.tar.gz

FROM debian:bookworm-slim
RUN apt-get update \
	&& apt-get install -y --no-install-recommends bubblewrap ca-certificates curl git python3 \
	&& rm -rf /var/lib/apt/lists/* \
	&& useradd --create-home --uid 10001 omoi \
	&& install -d -o omoi -g omoi /data /repos
COPY --from=build /src/omoi/bin/omoi /usr/local/bin/omoi
USER omoi
ENV OMOI_HOME=/data
VOLUME /data
EXPOSE 18000
ENTRYPOINT ["omoi"]
CMD ["help"]
