package local

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

// mode is the isolation of a sandbox, fixed when it is created.
type mode string

const (
	modeBubblewrap mode = "bubblewrap"
	modeNone       mode = "none"
)

// meta is the content of labels.json. meta never changes and contains no secret.
type meta struct {
	Labels    sandbox.Labels  `json:"labels"`
	Network   sandbox.Network `json:"network"`
	Limits    sandbox.Limits  `json:"limits"`
	Mode      mode            `json:"mode"`
	Isolation []string        `json:"isolation"`
	UID       int             `json:"uid"` // -1: the user of the worker
	Cgroups   []string        `json:"cgroups,omitempty"`
	CreatedAt time.Time       `json:"created_at"`
	Deadline  *time.Time      `json:"deadline,omitempty"`
}

// process identifies a process by PID and start time, because PIDs are reused.
type process struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"` // in clock ticks since boot
}

// state is the content of state.json, which exists once a command was started. state is written before the command
// runs.
type state struct {
	BootID string  `json:"boot_id"`
	Init   process `json:"init"`             // first process of the PID namespace, or the command without bubblewrap
	PIDNS  uint64  `json:"pid_ns,omitempty"` // inode of the PID namespace
}

// ending is the content of exit.json. Code is -1 if the command was killed.
type ending struct {
	Code   int    `json:"code"`
	Reason string `json:"reason,omitempty"`
	OOM    bool   `json:"oom,omitempty"`
	// DiskFull reports that the command was killed by the disk limit.
	DiskFull bool `json:"disk_full,omitempty"`
}

func (m meta) sandbox() sandbox.Sandbox {
	return sandbox.Sandbox{
		Labels: m.Labels, ProviderID: task.SandboxName(m.Labels.SandboxID),
		Isolation: m.Isolation, Arch: runtime.GOARCH, CreatedAt: m.CreatedAt,
	}
}

// folder is the path of a sandbox on the host.
type folder string

func (f folder) at(name string) string { return filepath.Join(string(f), name) }

// Names in a folder.
const (
	fileLabels = "labels.json"
	fileLife   = "life.lock"
	fileState  = "state.json"
	fileExit   = "exit.json"
	fileLog    = "log"
	dirEtc     = "etc"
	dirTmp     = "tmp" // /tmp without bubblewrap
)

// load reads a JSON file of the folder into v. load returns false if the file does not exist.
func (f folder) load(name string, v any) (bool, error) {
	text, err := os.ReadFile(f.at(name))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, unavailable("read "+name, err)
	}
	if err := json.Unmarshal(text, v); err != nil {
		return false, unavailable("decode "+name, err)
	}
	return true, nil
}

// save replaces a JSON file of the folder atomically.
func (f folder) save(name string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode %s: %w", name, err)
	}
	if err := os.WriteFile(f.at(name+".new"), text, 0o600); err != nil {
		return unavailable("write "+name, err)
	}
	if err := os.Rename(f.at(name+".new"), f.at(name)); err != nil {
		return unavailable("replace "+name, err)
	}
	return nil
}

// exists reports whether the folder exists; a file is not a folder.
func (f folder) exists() (bool, error) {
	info, err := os.Lstat(string(f))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, unavailable("stat the folder of a sandbox", err)
	}
	return info.IsDir(), nil
}

// unavailable returns a temporary error of the machine: the same call may succeed later.
func unavailable(doing string, err error) error {
	return task.Errorf(task.CodeUnavailable, "the sandbox host could not %s", doing).WithCause(err)
}
