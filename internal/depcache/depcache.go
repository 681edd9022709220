// Package depcache keeps the dependency caches of projects on a worker's machine: one
// archive each, made and unpacked inside sandboxes of that project, and never looked into here.
package depcache

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/omoi-dev/omoi/internal/task"
)

// Store is a folder of archives.
type Store struct{ dir string }

// New keeps archives in dir, which is made when it is needed.
func New(dir string) *Store { return &Store{dir: dir} }

// Open opens the archive of a project; [task.CodeNotFound] if there is none yet.
func (s *Store) Open(projectID string) (io.ReadCloser, error) {
	path, err := s.path(projectID)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, task.Errorf(task.CodeNotFound, "project %s has no cache yet", projectID)
	}
	if err != nil {
		return nil, fmt.Errorf("open the cache of project %s: %w", projectID, err)
	}
	return f, nil
}

// Keep replaces the archive of a project in one step.
func (s *Store) Keep(projectID string, archive io.Reader) error {
	path, err := s.path(projectID)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return fmt.Errorf("make the folder of caches: %w", err)
	}
	f, err := os.CreateTemp(s.dir, ".new-")
	if err != nil {
		return fmt.Errorf("keep the cache of project %s: %w", projectID, err)
	}
	_, err = io.Copy(f, archive)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return fmt.Errorf("keep the cache of project %s: %w", projectID, err)
	}
	return nil
}

func (s *Store) path(projectID string) (string, error) {
	if projectID == "" || !filepath.IsLocal(projectID) || filepath.Base(projectID) != projectID || projectID[0] == '.' {
		return "", task.Errorf(task.CodeInternal, "%q is no id of a project", projectID)
	}
	return filepath.Join(s.dir, projectID+".tar"), nil
}
