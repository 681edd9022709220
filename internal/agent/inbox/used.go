package inbox

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/omoi-dev/omoi/internal/task"
)

// usedIDs remembers which messages were taken up, and which were asked for: one entry a line.
type usedIDs struct {
	taker  string // the name under which this inbox asks, over all its processes
	ids    map[string]bool
	claims []Message // asked for and neither used nor lost
	path   string
}

// entry is a line of the file. An id that was used is a plain JSON string.
type entry struct {
	Taker string   `json:"taker,omitempty"`
	Claim *Message `json:"claim,omitempty"`
	Lost  string   `json:"lost,omitempty"`
}

func openUsed(path string) (*usedIDs, error) {
	u := &usedIDs{ids: map[string]bool{}, path: path}
	if err := u.read(); err != nil {
		return nil, err
	}
	if u.taker != "" {
		return u, nil
	}
	u.taker = task.NewID()
	return u, u.write(entry{Taker: u.taker})
}

func (u *usedIDs) read() error {
	if u.path == "" {
		return nil
	}
	b, err := os.ReadFile(u.path)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read used messages: %w", err)
	}
	for line := range strings.Lines(string(b)) {
		u.readLine([]byte(line))
	}
	return nil
}

// readLine passes over a torn line.
func (u *usedIDs) readLine(line []byte) {
	var id string
	if json.Unmarshal(line, &id) == nil {
		u.ids[id] = true
		u.settle(id)
		return
	}
	var e entry
	switch {
	case json.Unmarshal(line, &e) != nil:
	case e.Taker != "":
		u.taker = e.Taker
	case e.Claim != nil:
		u.settle(e.Claim.ID) // asked for again
		u.claims = append(u.claims, *e.Claim)
	case e.Lost != "":
		u.settle(e.Lost)
	}
}

func (u *usedIDs) settle(id string) {
	open := u.claims[:0:0]
	for _, m := range u.claims {
		if m.ID != id {
			open = append(open, m)
		}
	}
	u.claims = open
}

func (u *usedIDs) has(id string) bool { return id != "" && u.ids[id] }

// claim notes that a message is asked for: who is killed before the answer asks again.
func (u *usedIDs) claim(m Message) error {
	if m.ID == "" {
		return nil
	}
	return u.write(entry{Claim: &m})
}

// drop notes that somebody else has a message.
func (u *usedIDs) drop(id string) error { return u.write(entry{Lost: id}) }

func (u *usedIDs) add(id string) error {
	if id == "" {
		return nil
	}
	u.ids[id] = true
	return u.write(id)
}

func (u *usedIDs) write(v any) error {
	if u.path == "" {
		return nil
	}
	line, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode a message's note: %w", err)
	}
	f, err := os.OpenFile(u.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open used messages: %w", err)
	}
	defer func() { _ = f.Close() }()
	// A line begins with a newline, so that it stands alone even after a torn one.
	if _, err := f.Write(append(append([]byte{'\n'}, line...), '\n')); err != nil {
		return fmt.Errorf("note used message: %w", err)
	}
	return nil
}
