# A sandbox for usual projects: git, a shell, CA certificates, Python, Node and a compiler.
FROM debian:bookworm-slim
RUN apt-get update \
	&& apt-get install -y --no-install-recommends \
		build-essential ca-certificates curl git jq less nodejs npm openssh-client procps python3 python3-pip python3-venv ripgrep unzip \
	&& rm -rf /var/lib/apt/lists/* \
	&& useradd --uid 1000 --home-dir /home/agent --no-create-home --shell /bin/bash agent
