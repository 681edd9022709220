package mirror

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/omoi-dev/omoi/internal/scm/filelock"
)

// Git runs git in the repository at dir, with the file held open in it and its children: the lock lasts as long as they live.
type Git func(ctx context.Context, dir string, held *os.File, args ...string) error

// Store is a folder of mirrors.
type Store struct {
	// Patience is how long a caller waits for another one's fetch, which may last as long as it likes.
	Patience time.Duration

	dir  string
	most int64
}

// New keeps mirrors in dir, which may weigh so many bytes together. 0 keeps none: the answer is nil.
func New(dir string, most int64) *Store {
	if most <= 0 {
		return nil
	}
	return &Store{Patience: 30 * time.Second, dir: dir, most: most}
}

// place is the folder of one repository.
type place struct{ root string }

func (s *Store) place(key string) place { return place{filepath.Join(s.dir, key)} }

func (p place) git() string   { return filepath.Join(p.root, "copy.git") }
func (p place) packs() string { return filepath.Join(p.git(), "objects", "pack") }

// Handle is a mirror that nobody throws away before it is given back.
type Handle struct {
	// Objects is the folder of objects, for a file of alternates.
	Objects string
	// Shallow is git's list of the commits at which its history is cut; not there: it is not.
	Shallow string

	store *Store
	use   *os.File
}

// Close gives the mirror back.
func (h *Handle) Close() {
	release(h.use)
	Trim(h.store.dir, h.store.most)
}

// ErrInUse is of a damaged mirror from which somebody still reads.
var ErrInUse = errors.New("the mirror is damaged, and in use")

// ErrBusy is of a mirror into which somebody else fetches for longer than one should wait.
var ErrBusy = errors.New("somebody else fetches into the mirror")

// Acquire brings the mirror of a repository up to date by the command fetch, and returns it. Where that fails it returns nothing.
func (s *Store) Acquire(ctx context.Context, key string, git Git, fetch ...string) (*Handle, error) {
	p := s.place(key)
	if err := os.MkdirAll(p.root, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of a mirror: %w", err)
	}
	fetching, err := s.wait(ctx, p)
	if err != nil {
		return nil, err
	}
	defer func() { _ = fetching.Close() }()
	run := func(args ...string) error { return git(ctx, p.git(), fetching, args...) }
	if err := p.prepare(ctx, run); err != nil {
		return nil, err
	}
	if err := run(fetch...); err != nil {
		return nil, err
	}
	if err := p.touch(); err != nil {
		return nil, err
	}
	handle, err := s.acquire(p)
	release(fetching) // git has ended well: nobody else holds it
	return handle, err
}

// wait locks the mirror for fetching.
func (s *Store) wait(ctx context.Context, p place) (*os.File, error) {
	fetching, err := p.open("fetch")
	if err != nil {
		return nil, err
	}
	within, stop := context.WithTimeout(ctx, s.Patience)
	defer stop()
	err = filelock.Wait(within, fetching)
	switch {
	case err == nil:
		return fetching, nil
	case within.Err() != nil && ctx.Err() == nil:
		err = ErrBusy
	}
	return nil, errors.Join(fmt.Errorf("wait for the mirror: %w", err), fetching.Close())
}

// release unlocks a file before it closes it: a program that starts at this moment has it open too until it has begun.
func release(f *os.File) {
	_ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN)
	_ = f.Close()
}

// acquire locks the mirror against being thrown away. Whoever does that has the other lock too, so that nobody is waited for.
func (s *Store) acquire(p place) (*Handle, error) {
	use, err := p.open("use")
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(use.Fd()), syscall.LOCK_SH); err != nil {
		return nil, errors.Join(fmt.Errorf("lock the mirror: %w", err), use.Close())
	}
	return &Handle{Objects: filepath.Join(p.git(), "objects"), Shallow: filepath.Join(p.git(), "shallow"), store: s, use: use}, nil
}

// prepare makes a mirror that is not there or damaged, and packs one that lies in too many pieces.
func (p place) prepare(ctx context.Context, run func(args ...string) error) error {
	if p.sound(ctx) {
		return p.pack(run)
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("look through the mirror: %w", err)
	}
	use := p.alone("use")
	if use == nil {
		return ErrInUse
	}
	defer release(use)
	if err := p.clear(); err != nil {
		return err
	}
	return run("init", "--quiet", "--bare", "--template=")
}

// maxPacks is how many packs git may search through for an object.
const maxPacks = 50

// pack makes one pack of many small ones and leaves out what only old refs led to, unless somebody reads from them. What fails here
// is tried again by a later one.
func (p place) pack(run func(args ...string) error) error {
	packs, _ := filepath.Glob(filepath.Join(p.packs(), "*.pack"))
	old := p.oldRefs()
	if len(packs) <= maxPacks && len(old) == 0 {
		return nil
	}
	use := p.alone("use")
	if use == nil {
		return nil
	}
	defer release(use)
	how := "--geometric=2"
	if len(old) > 0 {
		how = "-a"
	}
	if removeAll(old) == nil {
		_ = run("repack", "--quiet", "-d", how)
	}
	return nil
}

// clear throws the mirror away. It goes at once, so that nobody trusts a part of it.
func (p place) clear() error {
	gone := p.git() + ".gone"
	err := os.RemoveAll(gone)
	if err == nil {
		err = os.Rename(p.git(), gone)
	}
	if err == nil {
		err = os.RemoveAll(gone)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("throw a mirror away: %w", err)
	}
	return nil
}

// touch notes that the mirror is used.
func (p place) touch() error {
	if err := os.WriteFile(filepath.Join(p.root, "used"), []byte(time.Now().UTC().Format(time.RFC3339)+"\n"), 0o600); err != nil {
		return fmt.Errorf("note that the mirror is used: %w", err)
	}
	return nil
}

// used is when the mirror was last acquired; the beginning of time if nobody knows.
func (p place) used() time.Time {
	info, err := os.Stat(filepath.Join(p.root, "used"))
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// Forget throws a mirror away that turned out to be of no use, unless somebody uses it.
func (s *Store) Forget(key string) { s.place(key).evict() }

// evict throws the mirror away unless somebody uses it.
func (p place) evict() bool {
	fetching := p.alone("fetch")
	if fetching == nil {
		return false
	}
	defer release(fetching)
	use := p.alone("use")
	if use == nil {
		return false
	}
	defer release(use)
	return p.clear() == nil
}

// alone locks for nobody else, or answers nil at once.
func (p place) alone(lock string) *os.File {
	f, err := p.open(lock)
	if err != nil {
		return nil
	}
	if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		_ = f.Close()
		return nil
	}
	return f
}

func (p place) open(lock string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(p.root, lock), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the lock of a mirror: %w", err)
	}
	return f, nil
}
