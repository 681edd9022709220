package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/omoi-dev/omoi/internal/proctable"
	"github.com/omoi-dev/omoi/internal/sandbox"
)

// cgroups are the limits that work here, found by doing. Empty: none do.
type cgroups struct {
	unified bool              // version 2: one tree for all controllers
	parents map[string]string // controller -> parent of our groups
	parts   []string          // memory, cpu, pids
}

const cgroupMount = "/sys/fs/cgroup"

// probeCgroups makes a group, sets limits and puts a process into it, per controller.
func probeCgroups() cgroups {
	c := cgroups{parents: map[string]string{}}
	if os.Geteuid() != 0 {
		return c
	}
	parentOf := v1Parent
	if _, err := os.Stat(cgroupMount + "/cgroup.controllers"); err == nil {
		c.unified, parentOf = true, unifiedParent
	}
	for _, controller := range []string{"memory", "cpu", "pids"} {
		parent := parentOf(controller)
		one := cgroups{unified: c.unified, parents: map[string]string{controller: parent}, parts: []string{controller}}
		if parent != "" && one.works() {
			c.parents[controller] = parent
			c.parts = append(c.parts, controller)
		}
	}
	return c
}

// unifiedParent is a group of our own at the top of the one tree.
func unifiedParent(controller string) string {
	const parent = cgroupMount + "/omoi"
	if err := os.MkdirAll(parent, 0o755); err != nil { //nolint:gosec // G301: a control group is public
		return ""
	}
	// Already on is success; a refusal shows when the limit is tried.
	_ = writeControl(cgroupMount+"/cgroup.subtree_control", "+"+controller)
	_ = writeControl(parent+"/cgroup.subtree_control", "+"+controller)
	return parent
}

// v1Parent is the group of this process in a version 1 hierarchy, so that limits set above
// us hold for sandboxes too.
func v1Parent(controller string) string {
	mount := filepath.Join(cgroupMount, controller)
	if _, err := os.Stat(mount); err != nil {
		return ""
	}
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) == 3 && strings.Contains(","+fields[1]+",", ","+controller+",") {
			if own := filepath.Join(mount, fields[2]); isDir(own) {
				return own
			}
		}
	}
	return mount
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func (c cgroups) works() bool {
	dirs := c.dirs(fmt.Sprintf("omoi-probe-%d-%d", os.Getpid(), time.Now().UnixNano()))
	defer removeGroups(dirs)
	if err := c.make(dirs, sandbox.Limits{MemoryBytes: sandbox.GiB, CPUs: 1, Processes: 64}); err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), probeTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/sleep", "10")
	cmd.Env = []string{} // ours holds credentials
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return false
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	return join(dirs, cmd.Process.Pid) == nil && groupMembers(dirs)[cmd.Process.Pid]
}

// dirs are the groups of one sandbox, one a hierarchy.
func (c cgroups) dirs(name string) (dirs []string) {
	for _, controller := range c.parts {
		dirs = append(dirs, filepath.Join(c.parents[controller], name))
	}
	return slices.Compact(dirs)
}

// make makes the groups and sets what each of them can limit. Repeating it is fine.
func (c cgroups) make(dirs []string, l sandbox.Limits) error {
	for _, dir := range dirs {
		if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // G301: a control group is public
			return unavailable("make a control group", err)
		}
		for _, s := range c.settings(l) {
			err := writeControl(filepath.Join(dir, s.file), s.value)
			foreign := !c.unified && errors.Is(err, os.ErrNotExist) // a file of another hierarchy
			if err != nil && !s.optional && !foreign {
				return unavailable("set "+s.file, err)
			}
		}
	}
	return nil
}

type setting struct {
	file, value string
	optional    bool
}

// settings of all controllers that work; in version 1 a file of another hierarchy is absent.
func (c cgroups) settings(l sandbox.Limits) []setting {
	const period = 100_000
	memory, quota := strconv.FormatInt(l.MemoryBytes, 10), strconv.Itoa(int(l.CPUs*period))
	var all []setting
	for _, part := range c.parts {
		switch {
		case part == "memory" && c.unified:
			all = append(all, setting{"memory.max", memory, false}, setting{"memory.swap.max", "0", true})
		case part == "memory":
			all = append(all, setting{"memory.limit_in_bytes", memory, false}, setting{"memory.memsw.limit_in_bytes", memory, true})
		case part == "cpu" && c.unified:
			all = append(all, setting{"cpu.max", quota + " " + strconv.Itoa(period), false})
		case part == "cpu":
			all = append(all, setting{"cpu.cfs_period_us", strconv.Itoa(period), false}, setting{"cpu.cfs_quota_us", quota, false})
		case part == "pids":
			all = append(all, setting{"pids.max", strconv.Itoa(l.Processes), false})
		}
	}
	return all
}

// join moves a process into the groups.
func join(dirs []string, pid int) error {
	for _, dir := range dirs {
		if err := writeControl(filepath.Join(dir, "cgroup.procs"), strconv.Itoa(pid)); err != nil {
			return unavailable("join a control group", err)
		}
	}
	return nil
}

// writeControl writes a file that the kernel made; it never makes one.
func writeControl(path, value string) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString(value)
	return errors.Join(err, file.Close())
}

// oomKilled reports whether the memory limit killed something.
func oomKilled(dirs []string) bool {
	for _, path := range killCounts(dirs) {
		if kills, _ := proctable.OOMKills(path); kills > 0 {
			return true
		}
	}
	return false
}

// killCounts are the files that may hold the kernel's count, by version.
func killCounts(dirs []string) (paths []string) {
	for _, dir := range dirs {
		paths = append(paths, filepath.Join(dir, "memory.events"), filepath.Join(dir, "memory.oom_control"))
	}
	return paths
}

// memoryBinds lets what runs inside tell a kill at the memory limit from one by somebody.
func memoryBinds(dirs []string) []string {
	for _, path := range killCounts(dirs) {
		if openToAll(path) {
			return []string{"--ro-bind", path, sandbox.MemoryKills}
		}
	}
	return nil
}

// openToAll reports whether every user may read a file: bubblewrap fails at one that it cannot reach.
func openToAll(path string) bool {
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm()&0o004 == 0 {
		return false
	}
	first, err := closed(filepath.Dir(path))
	return first == "" && err == nil
}

// removeGroups removes empty groups; one that a dying process still leaves is tried again.
func removeGroups(dirs []string) bool {
	clean := true
	for _, dir := range dirs {
		gone := false
		for try := 0; try < 50 && !gone; try++ {
			err := unix.Rmdir(dir)
			gone = err == nil || errors.Is(err, unix.ENOENT)
			if !gone {
				time.Sleep(2 * time.Millisecond) //nolint:forbidigo // the kernel tells nobody when a group is empty
			}
		}
		clean = clean && gone
	}
	return clean
}

// partProcesses is the limit of processes where there is no control group for them.
const partProcesses = "rlimit-processes"

// limitsUser reports whether the kernel's limit of processes a user means a sandbox: it has a
// user of its own, or, in a user namespace of its own, is counted by itself. Older kernels
// count all namespaces of a user together.
func (p *Provider) limitsUser(own bool) bool {
	if slices.Contains(p.cg.parts, "pids") {
		return false
	}
	return own || p.mode == modeBubblewrap && kernelIs(5, 14)
}

func kernelIs(major, minor int) bool {
	var uts unix.Utsname
	var a, b int
	if unix.Uname(&uts) != nil {
		return false
	}
	if _, err := fmt.Sscanf(unix.ByteSliceToString(uts.Release[:]), "%d.%d", &a, &b); err != nil {
		return false
	}
	return a > major || a == major && b >= minor
}

// limitProcesses binds the first process inside. A user of its own is bound by way of this
// process: root, which is not bound itself, may not change the limits of others everywhere.
func (s *minder) limitProcesses(first int) error {
	most := uint64(max(s.launch.Processes, 0))
	if most == 0 {
		return nil
	}
	limit := &unix.Rlimit{Cur: most, Max: most}
	var err error
	switch {
	case s.launch.UID >= 0 && first == 0:
		err = unix.Setrlimit(unix.RLIMIT_NPROC, limit)
	case s.launch.UID < 0 && first != 0:
		err = unix.Prlimit(first, unix.RLIMIT_NPROC, limit, nil)
	}
	if err != nil {
		return fmt.Errorf("limit the number of processes: %w", err)
	}
	return nil
}
