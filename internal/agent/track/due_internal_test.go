package track

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What only a scan finds is in a checkpoint at most 15 s and the time between two scans after the change.
func TestDue_ScansWithWatchesAreHalfAsOften(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		watch      *watch
		rest, took time.Duration
		due        bool
	}{
		{nil, 14 * time.Second, 0, false},
		{nil, 16 * time.Second, 0, true},
		{nil, 16 * time.Second, time.Second, false},
		{nil, 51 * time.Second, time.Second, true},
		{&watch{}, 29 * time.Second, 0, false},
		{&watch{}, 31 * time.Second, 0, true},
		{&watch{}, 99 * time.Second, time.Second, false},
		{&watch{}, 101 * time.Second, time.Second, true},
	} {
		tracker := &Tracker{cfg: Config{Scan: 15 * time.Second}, watch: c.watch, last: scanned{at: time.Now().Add(-c.rest), took: c.took}}
		require.Equal(t, c.due, tracker.due(), c)
	}
}
