package worker

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"

	"github.com/omoi-dev/omoi/internal/contract"
)

// TestRecordedPayloads_Decode decodes inputs and results of all activities and workflows in recorded histories with the types of this
// build. A JSON name that was renamed or dropped since is unknown to them.
func TestRecordedPayloads_Decode(t *testing.T) {
	t.Parallel()
	for _, file := range recordedFiles(t) {
		p := payloads{t: t, file: file, scheduled: map[int64]string{}}
		for _, e := range recordedEvents(t, file) {
			p.workflow(e)
			p.activity(e)
		}
	}
}

// TestRecordedPayloads_NoticeARename decodes an input with a name that its type does not have.
func TestRecordedPayloads_NoticeARename(t *testing.T) {
	t.Parallel()
	require.NoError(t, decode([]byte(`{"task_id":"a"}`), reflect.TypeFor[contract.TaskRef]()))
	require.Error(t, decode([]byte(`{"task":"a"}`), reflect.TypeFor[contract.TaskRef]()))
}

// payloads decodes the payloads of one recorded history.
type payloads struct {
	t         *testing.T
	file      string
	scheduled map[int64]string // activities by the ID of their first event
	started   string           // the workflow
}

func (p *payloads) workflow(e *historypb.HistoryEvent) {
	if w := e.GetWorkflowExecutionStartedEventAttributes(); w != nil {
		p.started = w.GetWorkflowType().GetName()
		p.input(p.started, workflowTypes(), w.GetInput())
	}
	p.input(p.started, workflowTypes(), e.GetWorkflowExecutionContinuedAsNewEventAttributes().GetInput())
	p.result(p.started, workflowTypes(), e.GetWorkflowExecutionCompletedEventAttributes().GetResult())
}

func (p *payloads) activity(e *historypb.HistoryEvent) {
	if a := e.GetActivityTaskScheduledEventAttributes(); a != nil {
		name := a.GetActivityType().GetName()
		p.scheduled[e.GetEventId()] = name
		p.input(name, activityTypes(), a.GetInput())
	}
	if a := e.GetActivityTaskCompletedEventAttributes(); a != nil {
		p.result(p.scheduled[a.GetScheduledEventId()], activityTypes(), a.GetResult())
	}
}

// input decodes the argument of a function, which follows its context.
func (p *payloads) input(name string, types map[string]any, in *commonpb.Payloads) {
	if of := reflect.TypeOf(types[name]); len(in.GetPayloads()) > 0 {
		require.Equal(p.t, 2, of.NumIn(), "%s: %s has no input", p.file, name)
		require.NoError(p.t, decode(in.GetPayloads()[0].GetData(), of.In(1)), "%s: input of %s", p.file, name)
	}
}

// result decodes the result of a function, which precedes its error.
func (p *payloads) result(name string, types map[string]any, out *commonpb.Payloads) {
	if of := reflect.TypeOf(types[name]); len(out.GetPayloads()) > 0 && string(out.GetPayloads()[0].GetData()) != "null" {
		require.Equal(p.t, 2, of.NumOut(), "%s: %s has no result", p.file, name)
		require.NoError(p.t, decode(out.GetPayloads()[0].GetData(), of.Out(0)), "%s: result of %s", p.file, name)
	}
}

func decode(data []byte, as reflect.Type) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	return decoder.Decode(reflect.New(as).Interface())
}

func recordedFiles(t *testing.T) (files []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir("../workflows/testdata/histories", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.Name() == "broken":
			return fs.SkipDir
		case filepath.Ext(path) == ".json":
			files = append(files, path)
		}
		return nil
	}))
	require.NotEmpty(t, files)
	return files
}

func recordedEvents(t *testing.T, path string) []*historypb.HistoryEvent {
	t.Helper()
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	history, err := client.HistoryFromJSON(file, client.HistoryJSONOptions{})
	require.NoError(t, err)
	return history.GetEvents()
}
