// Package statefile keeps what a restarted agent must know.
package statefile

import (
	"encoding/json"
	"fmt"
	"os"
)

// Save replaces the file at path, in one step, by v as JSON.
func Save(path string, v any) error {
	text, err := json.Marshal(v)
	if err == nil {
		err = os.WriteFile(path+".new", text, 0o600)
	}
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		return fmt.Errorf("save state: %w", err)
	}
	return nil
}
