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

// mostUsed is how many used messages are remembered over a restart. The API has settled a
// message before it is used; it gives none of those again.
const mostUsed = 1000

// usedIDs remembers which messages were asked for, won, and used.
type usedIDs struct {
	notes

	path string // empty: nothing outlives the process
	sync func(*os.File) error
}

// notes are what the file holds.
type notes struct {
	Taker string   `json:"taker"` // the name under which this inbox asks, over all its processes
	Used  []string `json:"used"`  // oldest first
	Open  []claim  `json:"open"`  // neither used nor lost
}

// claim is a message that was asked for.
type claim struct {
	Message

	Won bool `json:"won,omitempty"` // and handed out
}

func openUsed(path string) (*usedIDs, error) {
	u := &usedIDs{path: path, sync: (*os.File).Sync}
	if path != "" {
		text, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("read used messages: %w", err)
		}
		if json.Unmarshal(text, &u.notes) != nil { // a foreign file says nothing
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

// handedOut reports whether this taker has won a message and not used it.
func (u *usedIDs) handedOut(id string) bool {
	at := u.find(id)
	return at >= 0 && u.Open[at].Won && !u.Open[at].Repeated
}

func (u *usedIDs) find(id string) int {
	return slices.IndexFunc(u.Open, func(c claim) bool { return c.ID == id })
}

// claim notes that a message is asked for: who is killed before the answer asks again.
func (u *usedIDs) claim(m Message) error {
	if u.find(m.ID) >= 0 {
		return nil
	}
	u.Open = append(u.Open, claim{Message: m})
	return u.save()
}

// win notes that this taker has a message: who is killed before it is used hands it out again.
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

// save puts the whole file in its place, or leaves it as it is, and sees it on the disk: the file decides whether a message
// is used again after the machine has gone down.
func (u *usedIDs) save() error {
	if u.path == "" {
		return nil
	}
	kept := u.notes
	kept.Used = kept.Used[max(len(kept.Used)-mostUsed, 0):]
	return statefile.SaveSynced(u.path, kept, u.sync)
}
