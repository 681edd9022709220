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

// newTestTalk returns a talk without a program.
func newTestTalk(t *testing.T) *talk {
	t.Helper()
	rec := newTestRecorder()
	rec.place.path = filepath.Join(t.TempDir(), placeName)
	rec.looks.hurry() // there is no work tree
	made := newTalk(rec.env, variables{}, "", rec.place)
	made.rec, made.unheard = rec, map[string]inbox.Message{}
	return made
}

// TestStop_KeepsAResultUnlessAMessageWaits checks that work which was done before the stop counts. If a message waits,
// the limit stays, because nothing would stop the next turn: the time limit fires once.
func TestStop_KeepsAResultUnlessAMessageWaits(t *testing.T) {
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

// TestSave_LosesNoTime checks that frequent saves do not lose working time.
func TestSave_LosesNoTime(t *testing.T) {
	t.Parallel()
	talk := newTestTalk(t)
	began := talk.place.Since
	for range 100 {
		talk.Save()
	}
	require.Equal(t, talk.place.Since-began, time.Duration(talk.place.WorkedMS)*time.Millisecond)
	require.Less(t, time.Duration(0), uptime.Now()-talk.place.Since)
}
