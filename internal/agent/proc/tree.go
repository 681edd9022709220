package proc

import (
	"os"
	"syscall"
	"time"

	"github.com/omoi-dev/omoi/internal/proctable"
)

// family lists what descends from root, and the orphans that were handed to this process.
// Root zero means everything below this process.
func (r *Runner) family(root int) map[int]proctable.Process {
	kids := proctable.Children()
	found := map[int]proctable.Process{}
	var add func(p proctable.Process)
	add = func(p proctable.Process) {
		if _, seen := found[p.PID]; seen {
			return
		}
		found[p.PID] = p
		for _, k := range kids[p.PID] {
			add(k)
		}
	}
	if root > 0 {
		for _, k := range kids[root] { // also where root has ended since they were read
			add(k)
		}
		if p, ok := proctable.Read(root); ok {
			add(p)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	ours := syscall.Getpgrp()
	for _, p := range kids[os.Getpid()] {
		// What stays in our own group are short helpers of ours, such as git.
		if root == 0 || (r.own[p.PID] == nil && p.Group != ours) {
			add(p)
		}
	}
	return found
}

// killTree kills root's family until looking finds nobody alive. The members known from
// before are ended too: one whose parent died early may have left the tree.
func (r *Runner) killTree(root int, before map[int]proctable.Process) (killed, left int) {
	ended := map[int]uint64{}
	limit := time.Now().Add(10 * time.Second)
	for {
		alive := 0
		if root > 0 {
			_ = syscall.Kill(-root, syscall.SIGKILL)
		}
		family := r.family(root)
		for pid, p := range before {
			if _, there := family[pid]; !there {
				family[pid] = p
			}
		}
		for _, p := range family {
			now, ok := proctable.Read(p.PID)
			if !ok || now.Start != p.Start {
				continue
			}
			if now.HasEnded() {
				r.reap(now)
				ended[p.PID] = p.Start
				continue
			}
			alive++
			ended[p.PID] = p.Start
			_ = syscall.Kill(p.PID, syscall.SIGKILL)
		}
		if alive == 0 || time.Now().After(limit) {
			return len(ended), alive
		}
		<-time.After(2 * time.Millisecond)
	}
}

// reap takes the zombie of an orphan off the process table; children that a command waits
// for are left to it.
func (r *Runner) reap(p proctable.Process) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p.Parent == os.Getpid() && r.own[p.PID] == nil {
		_, _ = syscall.Wait4(p.PID, nil, syscall.WNOHANG, nil)
	}
}

// Reap takes the zombies of all orphans off the process table.
func (r *Runner) Reap() {
	for _, p := range r.family(0) {
		if p.HasEnded() {
			r.reap(p)
		}
	}
}

// KillAll ends everything below this process and says how many processes that were, and how
// many could not be ended.
func (r *Runner) KillAll() (killed, left int) {
	return r.killTree(0, nil)
}

// signal sends to the very process that was seen, not to a later one of the same number.
func signal(p proctable.Process, sig syscall.Signal) {
	if now, ok := proctable.Read(p.PID); ok && now.Start == p.Start {
		_ = syscall.Kill(p.PID, sig)
	}
}
