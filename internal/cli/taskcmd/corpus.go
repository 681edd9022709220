package taskcmd

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/supervise"
	"github.com/omoi-dev/omoi/internal/supervise/corpus"
)

const (
	corpusDir     = "internal/supervise/testdata/corpus"
	validationDir = "internal/supervise/testdata/validation"
)

func (s *session) corpusAdd() *cobra.Command {
	var note corpus.Note
	var dir, label string
	cmd := s.taskVerb("add <task>", "Add a labelled trajectory of an agent to the corpus", func(ctx context.Context, api *client.Client, t client.Task) error {
		return s.addToCorpus(ctx, api, t, dir, note)
	})
	cmd.Long = `Store the events of an attempt with a label as a file of the corpus, which omoi guardian score replays. The command uses
the newest attempt and removes the names of hosts and paths. The texts of the agent stay: read the file before you share it.

Without --label, the ratings of users decide (omoi guardian rate): a finding that was rated right gives its label. If all
findings up to an event were rated wrong, the trajectory up to that event is healthy.

Labels: ` + labels()
	cmd.PreRunE = func(*cobra.Command, []string) error {
		note.Label = supervise.Label(label)
		if note.Label != "" && strings.TrimSpace(note.Reason) == "" {
			return exit.Usagef("give a reason for the label, for example --label loop --reason \"Reads the same file repeatedly.\" (labels: %s)", labels())
		}
		return nil
	}
	f := cmd.Flags()
	f.StringVar(&label, "label", "", "label of the trajectory (default: by the ratings of users)")
	f.StringVar(&note.Reason, "reason", "", "reason for the label, in a sentence")
	f.StringVar(&note.Name, "name", "", "name of the file (default: <label>-<end of the task ID>)")
	f.StringVar(&note.Twin, "duplicate-of", "", "name of the trajectory with the same work")
	f.BoolVar(&note.Apart, "not-duplicate", false, "the work is different, although its words are similar to others")
	f.IntVar(&note.Attempt, "attempt", 0, "number of the attempt (default: the newest with events)")
	f.Int64Var(&note.Until, "last-event", 0, "sequence of the last event to include (default: all)")
	f.Float64Var(&note.Speed, "time-scale", 0, "factor by which the replay is slower than the recording")
	f.StringVar(&dir, "dir", corpusDir, "folder of the corpus")
	return cmd
}

func (s *session) corpusMutate() *cobra.Command {
	var name, dir string
	var seed uint64
	cmd := &cobra.Command{
		Use:   "mutate <file>",
		Short: "Make a labelled trajectory with a fault from a healthy one",
		Long: `Read a healthy trajectory and write a copy with a fault at a place that the seed decides, as a file of the validation
corpus. The same file, mutator and seed give the same trajectory. Trajectories of one mutator count as one kind.

Mutators: ` + strings.Join(corpus.Mutators(), ", "),
		Args: exactly(1, "a file"),
		RunE: func(_ *cobra.Command, args []string) error { return s.mutate(args[0], name, seed, dir) },
	}
	cmd.Flags().StringVar(&name, "mutator", "", "`name` of the mutator")
	cmd.Flags().Uint64Var(&seed, "seed", 1, "decides the place and the form of the fault")
	cmd.Flags().StringVar(&dir, "dir", validationDir, "folder of the corpus")
	return cmd
}

func (s *session) mutate(file, name string, seed uint64, dir string) error {
	from, err := s.path(file)
	if err != nil {
		return exit.With(exit.Usage, err)
	}
	folder, err := s.corpusFolder(dir)
	if err != nil {
		return err
	}
	raw, err := os.ReadFile(from)
	if err != nil {
		return exit.With(exit.Usage, err)
	}
	healthy, err := corpus.Parse(raw)
	if err != nil {
		return exit.With(exit.Usage, fmt.Errorf("read trajectory %s: %w", file, err))
	}
	made, err := corpus.Mutate(&healthy, name, seed)
	if err != nil {
		return exit.With(exit.Usage, err)
	}
	return s.saveTrajectory(folder, &made)
}

func labels() string {
	var names []string
	for _, label := range corpus.Labels() {
		names = append(names, string(label))
	}
	return strings.Join(names, ", ")
}

func (s *session) addToCorpus(ctx context.Context, api *client.Client, t client.Task, dir string, note corpus.Note) error {
	folder, err := s.corpusFolder(dir)
	if err != nil {
		return err
	}
	if note.Label == "" {
		if err := labelByRatings(ctx, api, t, &note); err != nil {
			return err
		}
	}
	events, err := AllEvents(ctx, api, t.ID)
	if err != nil {
		return err
	}
	contract, err := api.TaskContract(ctx, t.ID)
	if err != nil {
		return err
	}
	if contract.Known() {
		note.Contract = &contract.InForce
	}
	note.Name = cmp.Or(note.Name, string(note.Label)+"-"+t.ID[len(t.ID)-8:])
	made, err := corpus.Of(&t, events, note)
	if err != nil {
		return exit.With(exit.Usage, fmt.Errorf("read the trajectory of task %s: %w", t.ID, err))
	}
	return s.saveTrajectory(folder, &made)
}

func (s *session) corpusFolder(dir string) (string, error) {
	folder, err := s.path(dir)
	if err == nil && !isFolder(folder) {
		err = exit.Usagef("folder %s does not exist. Next: run the command in the root of the source tree, or give --dir", folder)
	}
	return folder, err
}

func (s *session) saveTrajectory(folder string, made *corpus.Trajectory) error {
	path, err := corpus.Save(folder, made)
	if err != nil {
		return exit.With(exit.Usage, err)
	}
	return s.answer(map[string]any{"path": path, "name": made.Name, "label": made.Label, "events": len(made.Events)}, nil, func() {
		s.say("%s: %d events, %s", path, len(made.Events), made.Label)
		s.hint("Next: omoi guardian score --dir %s", filepath.Dir(path))
	})
}

// AllEvents returns the stored events of a task, oldest first.
func AllEvents(ctx context.Context, api *client.Client, id string) ([]client.Event, error) {
	var events []client.Event
	for cursor := ""; ; {
		page, err := api.Events(ctx, id, cursor, 0)
		if err != nil {
			return nil, err
		}
		events = append(events, page.Items...)
		if len(page.Items) == 0 || page.NextCursor == nil {
			return events, nil
		}
		cursor = *page.NextCursor
	}
}
