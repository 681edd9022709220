package app

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os/exec"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/config"
	"github.com/omoi-dev/omoi/internal/task"
)

// reachEngine says why nobody listens at the engine's socket whom we may ask; nil if somebody does. An
// engine that is reached over the network is one that a person has named.
func reachEngine(cfg *config.Loaded) error {
	path, here := strings.CutPrefix(cfg.Docker.Host, "unix://")
	if !here {
		return nil
	}
	dialer := net.Dialer{Timeout: time.Second}
	conn, err := dialer.DialContext(context.Background(), "unix", path)
	if err != nil {
		return err
	}
	return conn.Close()
}

// engineNext is what to do about an engine that cannot be reached.
func engineNext(unreached error) string {
	const again = ", and start omoi again; see docs/DOCKER.md"
	_, missing := exec.LookPath("dockerd")
	switch {
	case errors.Is(unreached, fs.ErrPermission):
		return "let your user use its socket (mostly by its group, docker), or run omoi as one who may" + again
	case errors.Is(unreached, fs.ErrNotExist) && missing != nil:
		return "install Docker, or set docker.host to an engine elsewhere" + again
	}
	return "start one, as by `systemctl start docker`, or set docker.host" + again
}

// engineMends is what to do about an engine that was asked: what it said, or why it did not answer.
func engineMends(err error) string {
	if told, ok := errors.AsType[*task.Error](err); !ok || told.Code != task.CodeInvalid {
		return "look at `docker info` on this machine; see docs/DOCKER.md"
	} else if told.Field == "docker.network" {
		return "choose one that `docker network ls` shows by docker.network, or host or none; see docs/DOCKER.md"
	}
	return "correct docker.host; see docs/DOCKER.md"
}
