package config

// Docker is about sandboxes that are containers of a Docker engine.
type Docker struct {
	Use          string `key:"use" default:"auto" oneof:"auto always never" doc:"Offer Docker sandboxes on this machine: where the engine's socket is, always, or never."`
	Host         string `key:"host" env:"DOCKER_HOST" default:"unix:///var/run/docker.sock" doc:"Address of the Docker engine."`
	CertPath     string `key:"cert_path" env:"DOCKER_CERT_PATH" zero:"no TLS" doc:"Folder with ca.pem, cert.pem and key.pem for an engine that is reached over TLS."`
	Image        string `key:"image" default:"node:22-bookworm" doc:"Image of Docker sandboxes. It needs /bin/sh, git and CA certificates, and what the projects need; docs/DOCKER.md shows how to make one."`
	Pull         string `key:"pull" default:"missing" oneof:"missing never" doc:"Let the engine fetch the image if it does not have it."`
	Network      string `key:"network" default:"bridge" doc:"What a Docker sandbox reaches: bridge, host, none, or the name of a network of the engine. Where sandbox.network is none it is none."`
	User         string `key:"user" default:"1000:1000" doc:"User and group that everything in a Docker sandbox runs as, in numbers, never root."`
	WritableRoot bool   `key:"writable_root" default:"false" doc:"Leave the image's own files writable. What is written there has no limit and no salvage."`
}
