// Package proctable reads what the kernel tells of processes.
package proctable

import (
	"bytes"
	"os"
	"strconv"
)

// OOMKills reads how many processes a memory limit has killed, from a file that the kernel keeps for
// a control group; ok is false if it does not tell.
func OOMKills(path string) (kills int64, ok bool) {
	text, _ := os.ReadFile(path)
	for line := range bytes.Lines(text) {
		if value, found := bytes.CutPrefix(bytes.TrimSpace(line), []byte("oom_kill ")); found {
			kills, err := strconv.ParseInt(string(value), 10, 64)
			return kills, err == nil
		}
	}
	return 0, false
}

// Process is what the kernel tells of one.
type Process struct {
	PID, Parent, Group int

	State byte   // a letter, as in /proc/<pid>/stat
	Start uint64 // in clock ticks since boot; with PID it is an identity, since ids are used again
}

// HasEnded reports whether only its parent has still to be told of its end.
func (p Process) HasEnded() bool { return p.State == 'Z' || p.State == 'X' }

// IsStopped reports whether a signal or a debugger has stopped it.
func (p Process) IsStopped() bool { return p.State == 'T' || p.State == 't' }

// All reads the processes of this machine; none where they cannot be read.
func All() (all []Process) {
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if p, ok := Read(pid); ok {
			all = append(all, p)
		}
	}
	return all
}

// Children are all processes, by their present parents.
func Children() map[int][]Process {
	children := map[int][]Process{}
	for _, p := range All() {
		children[p.Parent] = append(children[p.Parent], p)
	}
	return children
}

// Read reads a process; ok is false if it is not there.
func Read(pid int) (p Process, ok bool) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	end := bytes.LastIndexByte(text, ')') // a name may hold anything, so look for its last end
	if err != nil || end < 0 {
		return p, false
	}
	fields := bytes.Fields(text[end+1:])
	if len(fields) < 20 {
		return p, false
	}
	p.PID, p.State = pid, fields[0][0]
	p.Parent, _ = strconv.Atoi(string(fields[1]))
	p.Group, _ = strconv.Atoi(string(fields[2]))
	p.Start, err = strconv.ParseUint(string(fields[19]), 10, 64)
	return p, err == nil
}
