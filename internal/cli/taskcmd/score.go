package taskcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/supervise"
	"github.com/omoi-dev/omoi/internal/supervise/corpus"
	"github.com/omoi-dev/omoi/internal/supervise/model"
)

func (s *session) guardianScore() *cobra.Command {
	var dir, name string
	cmd := &cobra.Command{
		Use:   "score",
		Short: "Replay recorded trajectories and print precision and recall",
		Long: `Replay the recorded trajectories, which users have labelled, and print precision (the share of findings that are
right) and recall (the share of faults that are found). No server is needed.

Without --model the rules are scored: each trajectory is analyzed while it grows, and the first call for steering counts.
With --model a model is scored at the end of each trajectory, with one or more calls for each, at ANTHROPIC_BASE_URL with
ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN.`,
		Args: NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return s.score(cmd.Context(), dir, name) },
	}
	cmd.Flags().StringVar(&dir, "dir", "", "`folder` of trajectories (default: those that omoi was built with)")
	cmd.Flags().StringVar(&name, "model", "", "score this `model` instead of the rules")
	return cmd
}

func (s *session) score(ctx context.Context, dir, name string) error {
	list, err := s.trajectories(dir)
	if err != nil {
		return err
	}
	var pairs []corpus.Pair // the trajectories are built in; a folder has no pairs
	if dir == "" {
		if pairs, err = corpus.LoadPairs(); err != nil {
			return err
		}
	}
	settings := supervise.DefaultSettings()
	if name == "" {
		score := corpus.Rules(list, settings)
		score.Words(pairs)
		return s.printScore(score)
	}
	asked, err := s.judge(name)
	if err != nil {
		return err
	}
	score := corpus.Model(ctx, name, list, settings, asked)
	score.Understood(ctx, pairs, settings, asked)
	return s.printScore(score)
}

func (s *session) trajectories(dir string) ([]corpus.Trajectory, error) {
	from, err := fs.Sub(supervise.Recorded, "testdata/corpus")
	if err != nil {
		return nil, fmt.Errorf("find the corpus: %w", err)
	}
	if dir != "" {
		folder, err := s.path(dir)
		if err != nil {
			return nil, exit.With(exit.Usage, err)
		}
		from = os.DirFS(folder)
	}
	list, err := corpus.Load(from)
	if err != nil {
		return nil, exit.With(exit.Usage, err)
	}
	if len(list) == 0 {
		return nil, exit.Usagef("there is no trajectory in %s; omoi guardian corpus add <task> writes one", dir)
	}
	return list, nil
}

func (s *session) judge(name string) (*model.Model, error) {
	settings := model.Defaults()
	settings.Model, settings.BaseURL = name, s.Env("ANTHROPIC_BASE_URL")
	settings.APIKey = s.Env("ANTHROPIC_API_KEY")
	if settings.APIKey == "" {
		settings.AuthToken = s.Env("ANTHROPIC_AUTH_TOKEN")
	}
	if cmp.Or(settings.APIKey, settings.AuthToken) == "" {
		return nil, exit.With(exit.NeedsYou, errors.New("a model needs a key: set ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN; without --model the rules are scored"))
	}
	return model.New(settings)
}

func (s *session) printScore(score corpus.Score) error {
	if *s.JSON {
		return s.printJSON(scored(score))
	}
	for _, j := range score.Judged {
		if j.Said != j.Label {
			s.say("%s", s.wrong(j, score.Judge))
		}
	}
	rows := [][]string{{"LABEL", "IS", "SAID", "RIGHT", "PRECISION", "RECALL"}}
	for _, label := range corpus.Labels() {
		if c, ok := score.Labels[label]; ok {
			rows = append(rows, shares(string(label), c))
		}
	}
	rows = append(rows, shares("any fault", score.Whole))
	if score.Pairs.Is > 0 {
		rows = append(rows, shares("pairs of texts", score.Pairs))
	}
	s.say("")
	s.table(rows)
	s.say("\nTrajectories: %d, judged by %s", score.Trajectories, score.Judge)
	if u := score.Use; u.Calls > 0 {
		s.say("%d questions, %d tokens in, %d out", u.Calls, u.InputTokens, u.OutputTokens)
	}
	if score.Use.Calls == 0 {
		s.hint("healthy: trajectories without a finding. Rules alone never return the verdict healthy.")
	}
	return nil
}

func shares(name string, c corpus.Share) []string {
	return []string{
		name, strconv.Itoa(c.Is), strconv.Itoa(c.Said), strconv.Itoa(c.Right),
		fmt.Sprintf("%.2f", c.Precision()), fmt.Sprintf("%.2f", c.Recall()),
	}
}

// wrong renders a wrong judgement of one trajectory next to its label.
func (s *session) wrong(j corpus.Judged, judge string) string {
	said, is := cmp.Or(string(j.Said), "nothing"), cmp.Or(string(j.Label), "two things")
	if j.Said == supervise.LabelHealthy && judge == corpus.ByRules {
		said = "nothing" // rules never return the verdict healthy
	}
	line := fmt.Sprintf("%s  is %s, said: %s.", s.style().Yellow(j.Name), is, said)
	if j.Why != "" {
		line += " " + render.OneLine(j.Why, 160)
	}
	if j.Reason != "" {
		line += "\n    " + s.style().Dim(render.OneLine(j.Reason, 160))
	}
	return line
}

// scored adds the fractions to a score, for JSON.
func scored(score corpus.Score) map[string]any {
	part := func(c corpus.Share) map[string]any {
		return map[string]any{"is": c.Is, "said": c.Said, "right": c.Right, "precision": c.Precision(), "recall": c.Recall()}
	}
	labels := map[string]any{}
	for label, c := range score.Labels {
		labels[string(label)] = part(c)
	}
	return map[string]any{
		"judge": score.Judge, "trajectories": score.Trajectories, "whole": part(score.Whole), "labels": labels, "pairs": part(score.Pairs), "judged": score.Judged, "use": score.Use,
	}
}

const corpusDir = "internal/supervise/testdata/corpus"

func (s *session) corpusAdd() *cobra.Command {
	var note corpus.Note
	var dir, label string
	cmd := s.taskVerb("add <task>", "Add a labelled trajectory of an agent to the corpus", func(ctx context.Context, api *client.Client, t client.Task) error {
		return s.addToCorpus(ctx, api, t, dir, note)
	})
	cmd.Long = `Store the events of an attempt with a label as a file of the corpus, which omoi guardian score replays. The command uses
the newest attempt and removes the names of hosts and paths. The texts of the agent stay: read the file before you share it.

Labels: ` + labels()
	cmd.PreRunE = func(*cobra.Command, []string) error {
		note.Label = supervise.Label(label)
		if note.Label == "" || strings.TrimSpace(note.Reason) == "" {
			return exit.Usagef("give a label and a reason, for example --label loop --reason \"Reads the same file repeatedly.\" (labels: %s)", labels())
		}
		return nil
	}
	f := cmd.Flags()
	f.StringVar(&label, "label", "", "label of the trajectory")
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
		err = exit.Usagef("folder %s does not exist. Next: run the command in the root of the source tree, or give --dir", folder)
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
		return exit.With(exit.Usage, fmt.Errorf("read the trajectory of task %s: %w", t.ID, err))
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
