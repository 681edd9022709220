package inbox

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestInsert_OrderOfWhatIsPutBack checks that interrupts come first, and a returned message before others of its kind.
func TestInsert_OrderOfWhatIsPutBack(t *testing.T) {
	t.Parallel()
	b := &Inbox{waiting: []Message{{ID: "i", Type: TypeInterrupt}, {ID: "u"}}}
	b.insert(Message{ID: "back"}, true)
	b.insert(Message{ID: "iback", Type: TypeInterrupt}, true)
	b.insert(Message{ID: "i2", Type: TypeInterrupt}, false)
	order := make([]string, 0, len(b.waiting))
	for _, m := range b.waiting {
		order = append(order, m.ID)
	}
	require.Equal(t, []string{"iback", "i", "i2", "back", "u"}, order)
}
