// Package statefile stores the state that a restarted omoi-agent continues from.
package statefile

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Load reads the JSON file at path into v, and reports whether it could. An unreadable file is from another version, or
// from a process that died.
func Load(path string, v any) bool {
	text, err := os.ReadFile(path)
	return err == nil && json.Unmarshal(text, v) == nil
}

// Save replaces the file at path atomically by v as JSON.
func Save(path string, v any) error {
	return SaveSynced(path, v, func(*os.File) error { return nil })
}

// SaveSynced is Save, and calls sync for the file and then for its folder, for state that must survive a crash of the
// machine.
func SaveSynced(path string, v any, sync func(*os.File) error) error {
	text, err := json.Marshal(v)
	if err == nil {
		err = replace(path, text, sync)
	}
	if err != nil {
		return fmt.Errorf("save state: %w", err)
	}
	return nil
}

func replace(path string, text []byte, sync func(*os.File) error) error {
	f, err := os.OpenFile(path+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil {
		err = sync(f)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Rename(path+".new", path); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(sync(dir), dir.Close())
}
