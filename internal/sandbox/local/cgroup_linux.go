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

// cgroups are the controllers that work on this machine. Empty: none.
type cgroups struct {
	unified bool              // version 2: one hierarchy for all controllers
	parents map[string]string // controller -> parent of omoi's groups
	parts   []string          // working controllers: memory, cpu, pids
}

const cgroupMount = "/sys/fs/cgroup"

// probeCgroups tests each controller: it creates a group, sets limits and moves a process into the group.
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

// unifiedParent returns omoi's group at the top of the version 2 hierarchy.
func unifiedParent(controller string) string {
	const parent = cgroupMount + "/omoi"
	if err := os.MkdirAll(parent, 0o755); err != nil { //nolint:gosec // G301: a control group is public
		return ""
	}
	// These writes fail if the controller cannot be enabled. The test of the controller reports that.
	_ = writeControl(cgroupMount+"/cgroup.subtree_control", "+"+controller)
	_ = writeControl(parent+"/cgroup.subtree_control", "+"+controller)
	return parent
}

// v1Parent returns the group of this process in a version 1 hierarchy, so that limits of the groups above apply to
// sandboxes too.
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
	cmd.Env = []string{} // no credentials of the worker
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return false
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	return join(dirs, cmd.Process.Pid) == nil && groupMembers(dirs)[cmd.Process.Pid]
}

// dirs returns the groups of one sandbox, one for each hierarchy.
func (c cgroups) dirs(name string) (dirs []string) {
	for _, controller := range c.parts {
		dirs = append(dirs, filepath.Join(c.parents[controller], name))
	}
	return slices.Compact(dirs)
}

// make creates the groups and sets their limits. A repeated call is safe.
func (c cgroups) make(dirs []string, l sandbox.Limits) error {
	for _, dir := range dirs {
		if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // G301: a control group is public
			return unavailable("create a control group", err)
		}
		for _, s := range c.settings(l) {
			err := writeControl(filepath.Join(dir, s.file), s.value)
			foreign := !c.unified && errors.Is(err, os.ErrNotExist) // the file belongs to another hierarchy
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

// settings returns the limits of all working controllers. In version 1, each file exists in one hierarchy only.
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

// writeControl writes an existing control file. writeControl never creates a file.
func writeControl(path, value string) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString(value)
	return errors.Join(err, file.Close())
}

// oomKilled reports whether the memory limit has killed a process.
func oomKilled(dirs []string) bool {
	for _, path := range killCounts(dirs) {
		if kills, _ := proctable.OOMKills(path); kills > 0 {
			return true
		}
	}
	return false
}

// killCounts returns the paths of the kernel's count of such kills, for both versions.
func killCounts(dirs []string) (paths []string) {
	for _, dir := range dirs {
		paths = append(paths, filepath.Join(dir, "memory.events"), filepath.Join(dir, "memory.oom_control"))
	}
	return paths
}

// memoryBinds mounts the kill count at [sandbox.MemoryKills], so that programs in the sandbox can tell a kill by the
// memory limit from others.
func memoryBinds(dirs []string) []string {
	for _, path := range killCounts(dirs) {
		if openToAll(path) {
			return []string{"--ro-bind", path, sandbox.MemoryKills}
		}
	}
	return nil
}

// openToAll reports whether every user can read a file. bubblewrap fails to mount a file that it cannot reach.
func openToAll(path string) bool {
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm()&0o004 == 0 {
		return false
	}
	first, err := closed(filepath.Dir(path))
	return first == "" && err == nil
}

// removeGroups removes empty groups. removeGroups retries for 100 ms, because a dying process leaves its group late.
// removeGroups reports whether all groups are removed.
func removeGroups(dirs []string) bool {
	clean := true
	for _, dir := range dirs {
		gone := false
		for try := 0; try < 50 && !gone; try++ {
			err := unix.Rmdir(dir)
			gone = err == nil || errors.Is(err, unix.ENOENT)
			if !gone {
				time.Sleep(2 * time.Millisecond) //nolint:forbidigo // a short retry
			}
		}
		clean = clean && gone
	}
	return clean
}

// partProcesses names the process limit by rlimit, for machines without the pids controller.
const partProcesses = "rlimit-processes"

// limitsUser reports whether the kernel's process limit for a user (RLIMIT_NPROC) limits one sandbox. This is so if the
// sandbox has its own user, or its own user namespace since Linux 5.14; older kernels count all namespaces of a user
// together.
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

// limitProcesses sets the process limit of the first process in the sandbox. If the sandbox has its own user, the shim
// sets its own limit, which children inherit: root is exempt from the limit, and some systems do not let it change
// limits of other processes.
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
