package inbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/omoi-dev/omoi/internal/agent/statefile"
	"github.com/omoi-dev/omoi/internal/task"
)

// mostUsed is the number of used messages that survive a restart. The API does not repeat an acknowledged message.
const mostUsed = 1000

// usedIDs records which messages were requested, won and used.
type usedIDs struct {
	notes

	path string // empty: memory only
	sync func(*os.File) error
}

// notes is the content of the file.
type notes struct {
	Taker string   `json:"taker"` // name under which this inbox asks, in all its processes
	Used  []string `json:"used"`  // IDs, oldest first
	Open  []claim  `json:"open"`  // neither used nor lost
}

// claim is a message whose acknowledgement was sent.
type claim struct {
	Message

	Won bool `json:"won,omitempty"` // the message was won and handed out
}

func openUsed(path string) (*usedIDs, error) {
	u := &usedIDs{path: path, sync: (*os.File).Sync}
	if path != "" {
		text, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("read used messages: %w", err)
		}
		if json.Unmarshal(text, &u.notes) != nil { // an unreadable file is ignored
			u.notes = notes{}
		}
	}
	for n := range u.Open {
		u.Open[n].Repeated = u.Open[n].Won
	}
	if u.Taker != "" {
		return u, nil
	}
	u.Taker = task.NewID()
	return u, u.save()
}

// handedOut reports whether this process has handed out a message that is not used yet.
func (u *usedIDs) handedOut(id string) bool {
	at := u.find(id)
	return at >= 0 && u.Open[at].Won && !u.Open[at].Repeated
}

func (u *usedIDs) find(id string) int {
	return slices.IndexFunc(u.Open, func(c claim) bool { return c.ID == id })
}

// claim records that a message is requested, so that the process that follows a killed one asks again.
func (u *usedIDs) claim(m Message) error {
	if u.find(m.ID) >= 0 {
		return nil
	}
	u.Open = append(u.Open, claim{Message: m})
	return u.save()
}

// win records that this taker has a message, so that the process that follows a killed one hands it out again.
func (u *usedIDs) win(id string) error {
	at := u.find(id)
	if at < 0 {
		return nil
	}
	u.Open[at].Won, u.Open[at].Repeated = true, false
	return u.save()
}

// drop records that another taker has a message.
func (u *usedIDs) drop(id string) error {
	u.settle(id)
	return u.save()
}

func (u *usedIDs) add(id string) error {
	if u.settle(id); !slices.Contains(u.Used, id) {
		u.Used = append(u.Used, id)
	}
	return u.save()
}

func (u *usedIDs) settle(id string) {
	u.Open = slices.DeleteFunc(u.Open, func(c claim) bool { return c.ID == id })
}

// save replaces the file atomically and syncs it to disk, because the file decides whether a message is repeated after
// a crash of the machine.
func (u *usedIDs) save() error {
	if u.path == "" {
		return nil
	}
	kept := u.notes
	kept.Used = kept.Used[max(len(kept.Used)-mostUsed, 0):]
	return statefile.SaveSynced(u.path, kept, u.sync)
}
