package taskcmd

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/client"
	"github.com/omoi-dev/omoi/internal/supervise"
	"github.com/omoi-dev/omoi/internal/supervise/corpus"
)

const corpusDir = "internal/supervise/testdata/corpus"

func (s *session) corpusAdd() *cobra.Command {
	var note corpus.Note
	var dir, label string
	cmd := s.taskVerb("add <task>", "Add a labelled trajectory of an agent to the corpus", func(ctx context.Context, api *client.Client, t client.Task) error {
		return s.addToCorpus(ctx, api, t, dir, note)
	})
	cmd.Long = `Write down what an agent did, and what you say of it, as a file of the corpus: omoi guardian score replays it.
Its newest attempt is taken, and what would tell where it ran is taken out. What the agent wrote stays in: look at the
file before you give it to others.

Labels: ` + labels()
	cmd.PreRunE = func(*cobra.Command, []string) error {
		note.Label = supervise.Label(label)
		if note.Label == "" || strings.TrimSpace(note.Reason) == "" {
			return exit.Usagef("say what it is and why: --label loop --reason \"It reads the same file again and again.\" (labels: %s)", labels())
		}
		return nil
	}
	f := cmd.Flags()
	f.StringVar(&label, "label", "", "what it is")
	f.StringVar(&note.Reason, "reason", "", "why it is that, in a sentence")
	f.StringVar(&note.Name, "name", "", "name of the file (default <label>-<end of the task's id>)")
	f.StringVar(&note.Twin, "duplicate-of", "", "of a duplicate: the name of the trajectory whose work is the same")
	f.BoolVar(&note.Apart, "not-duplicate", false, "its work is like that of others in words, and another: hold it against the duplicates")
	f.IntVar(&note.Attempt, "attempt", 0, "number of the attempt (default the newest with events)")
	f.Int64Var(&note.Until, "last-event", 0, "number of the last event that is taken (default all)")
	f.Float64Var(&note.Speed, "time-scale", 0, "by how much slower time is replayed, for what was recorded at a faster pace")
	f.StringVar(&dir, "dir", corpusDir, "folder of the corpus")
	return cmd
}

func labels() string {
	var names []string
	for _, label := range corpus.Labels() {
		names = append(names, string(label))
	}
	return strings.Join(names, ", ")
}

func (s *session) addToCorpus(ctx context.Context, api *client.Client, t client.Task, dir string, note corpus.Note) error {
	folder, err := s.path(dir)
	if err == nil && !isFolder(folder) {
		err = exit.Usagef("there is no folder %s; run this from the top of the source tree, or name one with --dir", folder)
	}
	if err != nil {
		return err
	}
	events, err := AllEvents(ctx, api, t.ID)
	if err != nil {
		return err
	}
	note.Name = cmp.Or(note.Name, string(note.Label)+"-"+t.ID[len(t.ID)-8:])
	made, err := corpus.Of(&t, events, note)
	if err != nil {
		return exit.With(exit.Usage, fmt.Errorf("task %s is no trajectory: %w", t.ID, err))
	}
	path, err := corpus.Save(folder, &made)
	if err != nil {
		return exit.With(exit.Usage, err)
	}
	return s.answer(map[string]any{"path": path, "name": made.Name, "label": made.Label, "events": len(made.Events)}, nil, func() {
		s.say("%s: %d events, %s", path, len(made.Events), made.Label)
		s.hint("Next: omoi guardian score --dir %s", filepath.Dir(path))
	})
}

// AllEvents returns the events that a task has now, the oldest first.
func AllEvents(ctx context.Context, api *client.Client, id string) ([]client.Event, error) {
	var events []client.Event
	next := ""
	for {
		page, err := api.Events(ctx, id, next, 0)
		if err != nil {
			return nil, err
		}
		events, next = append(events, page.Events...), page.Next
		if len(page.Events) == 0 || page.Done {
			return events, nil
		}
	}
}
