package inbox

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// usedIDs remembers which messages were taken up, one JSON string a line.
type usedIDs struct {
	ids  map[string]bool
	path string
}

func openUsed(path string) (*usedIDs, error) {
	u := &usedIDs{ids: map[string]bool{}, path: path}
	if path == "" {
		return u, nil
	}
	b, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return u, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read used messages: %w", err)
	}
	for line := range strings.Lines(string(b)) {
		var id string
		if json.Unmarshal([]byte(line), &id) == nil { // a torn last line is not an id
			u.ids[id] = true
		}
	}
	return u, nil
}

func (u *usedIDs) has(id string) bool { return id != "" && u.ids[id] }

func (u *usedIDs) add(id string) error {
	if id == "" {
		return nil
	}
	u.ids[id] = true
	if u.path == "" {
		return nil
	}
	f, err := os.OpenFile(u.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open used messages: %w", err)
	}
	defer func() { _ = f.Close() }()
	line, err := json.Marshal(id)
	if err != nil {
		return fmt.Errorf("encode message id: %w", err)
	}
	// A line begins with a newline, so that it stands alone even after a torn one.
	if _, err := f.Write(append(append([]byte{'\n'}, line...), '\n')); err != nil {
		return fmt.Errorf("note used message: %w", err)
	}
	return nil
}
