package daytona

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/omoi-dev/omoi/internal/testkit/daytona/toolbox"
)

// User and home of what runs in a sandbox.
const (
	boxUser = "daytona"
	boxHome = "/home/daytona"
	boxPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
)

// cell is the folder of one sandbox and how its processes are started.
type cell struct {
	dir     string
	uid     int // -1: our own
	wrapped bool
	closed  bool // to further namespaces
	env     map[string]string
	offline bool
}

// introduction is what a daemon is told.
func (s *Server) introduction(c cell) toolbox.Config {
	home, temp := boxHome, "/tmp"
	if !c.wrapped {
		home, temp = filepath.Join(c.dir, "home"), filepath.Join(c.dir, "tmp")
	}
	env := map[string]string{
		"PATH": boxPath, "HOME": home, "USER": boxUser, "LOGNAME": boxUser, "LANG": "C.UTF-8",
		"SHELL": "/bin/sh", "TMPDIR": temp, "DAYTONA_SANDBOX_ID": filepath.Base(c.dir),
	}
	maps.Copy(env, c.env)
	return toolbox.Config{
		Env: env, Home: home, State: filepath.Join(home, ".daytona"), Version: daemonVersion,
		Frame: s.opts.FrameBytes, Quiet: s.opts.Quiet, Grace: s.opts.Grace, Reap: !c.wrapped,
	}
}

// prepare makes the folders of a sandbox.
func (c cell) prepare() error {
	for _, name := range []string{"home", "tmp", "etc"} {
		path := filepath.Join(c.dir, name)
		if err := os.MkdirAll(path, 0o755); err != nil { //nolint:gosec // G301: the box's own user walks through
			return err
		}
		if c.uid >= 0 && name != "etc" {
			if err := os.Lchown(path, c.uid, c.uid); err != nil {
				return err
			}
		}
	}
	for name, text := range map[string]string{
		"passwd": "root:x:0:0:root:/root:/bin/sh\n" + boxUser + ":x:1000:1000::" + boxHome + ":/bin/sh\nnobody:x:65534:65534::/:/bin/false\n",
		"group":  "root:x:0:\n" + boxUser + ":x:1000:\nnogroup:x:65534:\n",
		"hosts":  hosts(),
	} {
		if err := os.WriteFile(filepath.Join(c.dir, "etc", name), []byte(text), 0o644); err != nil { //nolint:gosec // G306: read inside
			return err
		}
	}
	return nil
}

// hosts are the machine's own names: its network is shared.
func hosts() string {
	text, err := os.ReadFile("/etc/hosts")
	if err != nil {
		return "127.0.0.1 localhost\n::1 localhost\n"
	}
	return string(text)
}

// demolish removes the folder; its processes are dead. Who is not root cannot go into
// folders that were closed from inside.
func (c cell) demolish(ctx context.Context) error {
	err := os.RemoveAll(c.dir)
	if err == nil {
		return nil
	}
	_ = exec.CommandContext(ctx, "chmod", "-R", "u+rwx", c.dir).Run() //nolint:gosec // our own folder
	if err := os.RemoveAll(c.dir); err != nil {
		return fmt.Errorf("remove the folder of a sandbox: %w", err)
	}
	return nil
}
