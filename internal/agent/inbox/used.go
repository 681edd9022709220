package inbox

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/omoi-dev/omoi/internal/task"
)

// usedIDs remembers which messages were asked for, won, and used: one entry a line.
type usedIDs struct {
	taker string // the name under which this inbox asks, over all its processes
	ids   map[string]bool
	won   map[string]bool // and handed out, and not used
	open  []Message       // those that earlier processes asked for and neither used nor lost
	path  string
}

// entry is a line of the file. An id that was used is a plain JSON string.
type entry struct {
	Taker string   `json:"taker,omitempty"`
	Claim *Message `json:"claim,omitempty"`
	Won   string   `json:"won,omitempty"`
	Lost  string   `json:"lost,omitempty"`
}

func openUsed(path string) (*usedIDs, error) {
	u := &usedIDs{ids: map[string]bool{}, won: map[string]bool{}, path: path}
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
		u.open = append(u.open, *e.Claim)
	case e.Won != "":
		u.repeat(e.Won)
	case e.Lost != "":
		u.settle(e.Lost)
	}
}

func (u *usedIDs) settle(id string) {
	u.open = slices.DeleteFunc(u.open, func(m Message) bool { return m.ID == id })
}

// repeat marks what an earlier process has won.
func (u *usedIDs) repeat(id string) {
	for i := range u.open {
		if u.open[i].ID == id {
			u.open[i].Repeated = true
		}
	}
}

func (u *usedIDs) has(id string) bool { return id != "" && u.ids[id] }

// claim notes that a message is asked for: who is killed before the answer asks again.
func (u *usedIDs) claim(m Message) error {
	if m.ID == "" || m.Repeated {
		return nil
	}
	return u.write(entry{Claim: &m})
}

// win notes that this taker has a message: who is killed before it is used hands it out again.
func (u *usedIDs) win(id string) error {
	if id == "" {
		return nil
	}
	u.won[id] = true
	return u.write(entry{Won: id})
}

// drop notes that somebody else has a message.
func (u *usedIDs) drop(id string) error { return u.write(entry{Lost: id}) }

func (u *usedIDs) add(id string) error {
	if id == "" {
		return nil
	}
	u.ids[id] = true
	delete(u.won, id)
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
