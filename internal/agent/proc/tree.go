package proc

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
	"time"
)

// process is what /proc tells of one.
type process struct {
	pid, ppid int
	group     int
	state     byte
	start     uint64 // with pid it is an identity: pids are used again
}

// snapshot reads the process table; nil where /proc cannot be read.
func snapshot() map[int]process {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer func() { _ = dir.Close() }()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil
	}
	all := make(map[int]process, len(names))
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			if p, ok := look(pid); ok {
				all[pid] = p
			}
		}
	}
	return all
}

func look(pid int) (process, bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return process{}, false
	}
	end := bytes.LastIndexByte(b, ')') // the name may hold anything, also parentheses
	if end < 0 {
		return process{}, false
	}
	fields := bytes.Fields(b[end+1:])
	if len(fields) < 20 {
		return process{}, false
	}
	ppid, _ := strconv.Atoi(string(fields[1]))
	group, _ := strconv.Atoi(string(fields[2]))
	start, _ := strconv.ParseUint(string(fields[19]), 10, 64)
	return process{pid: pid, ppid: ppid, group: group, state: fields[0][0], start: start}, true
}

// family lists what descends from root, and the orphans that were handed to this process.
// Root zero means everything below this process.
func (r *Runner) family(root int) map[int]process {
	all := snapshot()
	kids := map[int][]process{}
	for _, p := range all {
		kids[p.ppid] = append(kids[p.ppid], p)
	}
	found := map[int]process{}
	var add func(p process)
	add = func(p process) {
		if _, seen := found[p.pid]; seen {
			return
		}
		found[p.pid] = p
		for _, k := range kids[p.pid] {
			add(k)
		}
	}
	if p, ok := all[root]; ok && root > 0 {
		add(p)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	ours := syscall.Getpgrp()
	for _, p := range kids[os.Getpid()] {
		// What stays in our own group are short helpers of ours, such as git.
		if root == 0 || (r.own[p.pid] == nil && p.group != ours) {
			add(p)
		}
	}
	return found
}

// killTree kills root's family until looking finds nobody alive. The members known from
// before are ended too: one whose parent died early may have left the tree.
func (r *Runner) killTree(root int, before map[int]process) (killed, left int) {
	ended := map[int]uint64{}
	limit := time.Now().Add(10 * time.Second)
	for {
		alive := 0
		if root > 0 {
			_ = syscall.Kill(-root, syscall.SIGKILL)
		}
		for _, p := range merge(r.family(root), before) {
			now, ok := look(p.pid)
			if !ok || now.start != p.start {
				continue
			}
			if now.state == 'Z' || now.state == 'X' {
				r.reap(now)
				ended[p.pid] = p.start
				continue
			}
			alive++
			ended[p.pid] = p.start
			_ = syscall.Kill(p.pid, syscall.SIGKILL)
		}
		if alive == 0 || time.Now().After(limit) {
			return len(ended), alive
		}
		<-time.After(2 * time.Millisecond)
	}
}

// reap takes the zombie of an orphan off the process table; children that a command waits
// for are left to it.
func (r *Runner) reap(p process) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p.ppid == os.Getpid() && r.own[p.pid] == nil {
		_, _ = syscall.Wait4(p.pid, nil, syscall.WNOHANG, nil)
	}
}

// Reap takes the zombies of all orphans off the process table.
func (r *Runner) Reap() {
	for _, p := range r.family(0) {
		if p.state == 'Z' {
			r.reap(p)
		}
	}
}

// KillAll ends everything below this process and says how many processes that were, and how
// many could not be ended.
func (r *Runner) KillAll() (killed, left int) {
	return r.killTree(0, nil)
}

func merge(a, b map[int]process) map[int]process {
	for pid, p := range b {
		if _, ok := a[pid]; !ok {
			a[pid] = p
		}
	}
	return a
}

// signal sends to the very process that was seen, not to a later one of the same number.
func signal(p process, sig syscall.Signal) {
	if now, ok := look(p.pid); ok && now.start == p.start {
		_ = syscall.Kill(p.pid, sig)
	}
}
