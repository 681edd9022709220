package claude

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent/continuous"
	"github.com/omoi-dev/omoi/internal/agent/inbox"
	"github.com/omoi-dev/omoi/internal/uptime"
)

// newTestTalk is a talk without a program.
func newTestTalk(t *testing.T) *talk {
	t.Helper()
	rec := newTestRecorder()
	rec.place.path = filepath.Join(t.TempDir(), placeName)
	rec.looks.hurry() // there is no work tree
	made := newTalk(rec.env, variables{}, "", rec.place)
	made.rec, made.unheard = rec, map[string]inbox.Message{}
	return made
}

// What was done before it could be stopped counts as done; but a message that is waiting would begin a turn that
// nothing stops, since the time is up only once.
func TestALimitHoldsForWhatIsWaiting(t *testing.T) {
	t.Parallel()
	success := parse([]byte(`{"type":"result","subtype":"success","result":"Done."}`))
	alone := newTestTalk(t)
	end := &turn{stop: continuous.StopTime}
	alone.noticed(end, success)
	require.Empty(t, end.stop)
	require.True(t, alone.over(end))

	spoken := newTestTalk(t)
	spoken.unheard["u"] = inbox.Message{}
	end = &turn{stop: continuous.StopTime}
	spoken.noticed(end, success)
	require.False(t, spoken.over(end))
	spoken.noticed(end, parse([]byte(`{"type":"user","uuid":"u","isReplay":true}`)))
	require.True(t, spoken.over(end))
	require.Equal(t, continuous.StopTime, end.stop)
}

// However often it is saved, no time of work is lost: a limit of time would be found not reached.
func TestNoTimeIsLost(t *testing.T) {
	t.Parallel()
	talk := newTestTalk(t)
	began := talk.place.Since
	for range 100 {
		talk.Save()
	}
	require.Equal(t, talk.place.Since-began, time.Duration(talk.place.WorkedMS)*time.Millisecond)
	require.Less(t, time.Duration(0), uptime.Now()-talk.place.Since)
}
