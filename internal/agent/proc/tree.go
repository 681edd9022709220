package proc

import (
	"os"
	"syscall"
	"time"

	"github.com/omoi-dev/omoi/internal/proctable"
)

// family returns the descendants of root, and the orphans that this process adopted. Root zero means all processes
// below this one.
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
		for _, k := range kids[root] { // also if root has ended since the scan
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
		// Children in omoi-agent's own group are its short helpers, for example git.
		if root == 0 || (r.own[p.PID] == nil && p.Group != ours) {
			add(p)
		}
	}
	return found
}

// killTree kills root's family until a scan finds none. before has members of an earlier scan: a process whose parent
// died early may have left the tree.
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
				if root > 0 { // the signal to its group may have ended it
					ended[p.PID] = p.Start
				}
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

// reap reaps an orphan. Children of Run are left to its wait.
func (r *Runner) reap(p proctable.Process) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p.Parent == os.Getpid() && r.own[p.PID] == nil {
		_, _ = syscall.Wait4(p.PID, nil, syscall.WNOHANG, nil)
	}
}

// Reap reaps all ended orphans.
func (r *Runner) Reap() {
	for _, p := range r.family(0) {
		if p.HasEnded() {
			r.reap(p)
		}
	}
}

// KillAll kills all processes below this one. KillAll returns their number without those that had ended by themselves, and the number of
// those that could not be killed.
func (r *Runner) KillAll() (killed, left int) {
	return r.killTree(0, nil)
}

// signal signals a process if its start time is unchanged, so that no other process with the same PID gets the signal.
func signal(p proctable.Process, sig syscall.Signal) {
	if now, ok := proctable.Read(p.PID); ok && now.Start == p.Start {
		_ = syscall.Kill(p.PID, sig)
	}
}
