package gitcmd

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"
)

// Pipes are named pipes in a work tree that have the name of a file that Git reads. Git waits until another process opens such a
// pipe for writing.
type Pipes struct {
	top string

	mu    sync.Mutex
	known []string
}

const (
	pipeSearch = time.Second           // a command that takes longer may wait for a pipe
	pipePause  = 10 * time.Millisecond // between two openings
)

// Pass opens the pipes for writing, again and again until stop is called, so that Git reads them as empty files.
func (p *Pipes) Pass() (stop func()) {
	if p == nil {
		return func() {}
	}
	done := make(chan struct{})
	go func() {
		for pause := p.first(); pause > 0; pause = p.open() {
			select {
			case <-done:
				return
			case <-time.After(pause):
			}
		}
	}()
	return sync.OnceFunc(func() { close(done) })
}

func (p *Pipes) first() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.known) > 0 {
		return pipePause
	}
	return pipeSearch
}

// open opens each pipe that a process reads, and returns when to do so again; zero: there are none.
func (p *Pipes) open() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.known) == 0 {
		p.search()
	}
	p.known = slices.DeleteFunc(p.known, func(path string) bool { return !isPipe(path) })
	for _, path := range p.known {
		if f, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0); err == nil {
			_ = f.Close()
		}
	}
	if len(p.known) == 0 {
		return 0
	}
	return pipePause
}

func (p *Pipes) search() {
	_ = filepath.WalkDir(p.top, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
		case entry.IsDir() && entry.Name() == ".git":
			return fs.SkipDir
		case entry.Type() == fs.ModeNamedPipe && (entry.Name() == ".gitignore" || entry.Name() == ".gitattributes"):
			p.known = append(p.known, path)
		}
		return nil //nolint:nilerr // unreadable for git too
	})
}

func isPipe(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode().Type() == fs.ModeNamedPipe
}
