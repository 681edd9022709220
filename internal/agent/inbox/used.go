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
	order []string        // of the ids, oldest first
	won   map[string]bool // and handed out, and not used
	open  []Message       // those that earlier processes asked for and neither used nor lost
	path  string
	lines int // in the file
	sync  func(*os.File) error
}

// entry is a line of the file. An id that was used is a plain JSON string.
type entry struct {
	Taker string   `json:"taker,omitempty"`
	Claim *Message `json:"claim,omitempty"`
	Won   string   `json:"won,omitempty"`
	Lost  string   `json:"lost,omitempty"`
}

func openUsed(path string) (*usedIDs, error) {
	u := &usedIDs{ids: map[string]bool{}, won: map[string]bool{}, path: path, sync: (*os.File).Sync}
	if err := u.read(); err != nil {
		return nil, err
	}
	if u.taker != "" {
		_ = u.compact() // on a full disk, say: the file is right as it is
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
		if line != "\n" {
			u.lines++
			u.readLine([]byte(line))
		}
	}
	return nil
}

// readLine passes over a torn line.
func (u *usedIDs) readLine(line []byte) {
	var id string
	if json.Unmarshal(line, &id) == nil {
		u.remember(id)
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

func (u *usedIDs) remember(id string) {
	if !u.ids[id] {
		u.ids[id], u.order = true, append(u.order, id)
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
	u.remember(id)
	delete(u.won, id)
	return u.write(id)
}

// write adds a line and sees it on the disk: what stands there decides whether a message is
// used again after the machine has gone down.
func (u *usedIDs) write(v any) error {
	if u.path == "" {
		return nil
	}
	line, err := noteOf(v)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(u.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open used messages: %w", err)
	}
	defer func() { _ = f.Close() }()
	if _, err := f.Write(line); err != nil {
		return fmt.Errorf("note used message: %w", err)
	}
	if err := u.sync(f); err != nil {
		return fmt.Errorf("sync used messages: %w", err)
	}
	return nil
}

// noteOf begins a line with a newline, so that it stands alone even after a torn one.
func noteOf(v any) ([]byte, error) {
	line, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode a message's note: %w", err)
	}
	return append(append([]byte{'\n'}, line...), '\n'), nil
}
