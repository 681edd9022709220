package toolbox

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// adopt makes this process the parent of orphans below it, and reaps them.
func (t *tree) adopt() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become the reaper of orphans: %w", err)
	}
	died := make(chan os.Signal, 1)
	signal.Notify(died, syscall.SIGCHLD)
	go func() {
		for range died {
			t.reap()
		}
	}()
	return nil
}

func (t *tree) reap() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, pid := range children(os.Getpid()) {
		if !t.own[pid] {
			_, _ = syscall.Wait4(pid, nil, syscall.WNOHANG, nil) // alive: another time
		}
	}
}

// end kills what is below this process until nothing is left that can be killed. Who forks
// faster than we look is met again in the next round, as our own child at last.
func (t *tree) end() {
	t.mu.Lock() // for good: nothing is started any more
	for range 1000 {
		below := descendants(os.Getpid())
		if len(below) == 0 {
			return
		}
		for _, pid := range below {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		for _, pid := range children(os.Getpid()) {
			_, _ = syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
		}
	}
}

func descendants(pid int) []int {
	var all []int
	for _, child := range children(pid) {
		all = append(append(all, child), descendants(child)...)
	}
	return all
}

func children(pid int) []int {
	files, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/children")
	var all []int
	for _, file := range files {
		text, _ := os.ReadFile(file)
		for field := range strings.FieldsSeq(string(text)) {
			if child, err := strconv.Atoi(field); err == nil {
				all = append(all, child)
			}
		}
	}
	return all
}
