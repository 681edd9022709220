package taskcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/spf13/cobra"

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
right) and recall (the share of faults that are found), by label, kind and agent, with 95 % intervals. No server is needed.

The development corpus was known while the rules were written. Of the validation corpus, the first score of each
trajectory is printed, from before anything was changed for it. Trajectories of one mutator are one kind.

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
	if dir != "" {
		return s.scoreFolder(ctx, dir, name)
	}
	list, err := corpus.Development()
	if err != nil {
		return err
	}
	fresh, err := corpus.Validation()
	if err != nil {
		return err
	}
	pairs, err := corpus.LoadPairs()
	if err != nil {
		return err
	}
	known, err := s.scored(ctx, name, list, pairs)
	if err != nil {
		return err
	}
	now, err := s.scored(ctx, name, fresh, nil)
	if err != nil {
		return err
	}
	return s.printScores(known, now, fresh)
}

// scored scores the rules, or a model.
func (s *session) scored(ctx context.Context, name string, list []corpus.Trajectory, pairs []corpus.Pair) (corpus.Score, error) {
	settings := supervise.DefaultSettings()
	if name == "" {
		score := corpus.Rules(list, settings)
		score.Words(pairs)
		return score, nil
	}
	asked, err := s.judge(name)
	if err != nil {
		return corpus.Score{}, err
	}
	score := corpus.Model(ctx, name, list, settings, asked)
	score.Understood(ctx, pairs, asked)
	return score, nil
}

// scoreFolder scores the trajectories of a folder, which has no pairs.
func (s *session) scoreFolder(ctx context.Context, dir, name string) error {
	folder, err := s.path(dir)
	if err != nil {
		return exit.With(exit.Usage, err)
	}
	list, err := corpus.Load(os.DirFS(folder))
	if err != nil {
		return exit.With(exit.Usage, err)
	}
	if len(list) == 0 {
		return exit.Usagef("there is no trajectory in %s; omoi guardian corpus add <task> writes one", dir)
	}
	score, err := s.scored(ctx, name, list, nil)
	if err != nil {
		return err
	}
	return s.answer(fractions(score), nil, func() { s.printScore(score) })
}

// printScores prints the score of the development corpus, and the first and the new score of the validation corpus.
func (s *session) printScores(known, now corpus.Score, fresh []corpus.Trajectory) error {
	firsts, err := corpus.Firsts()
	if err != nil {
		return err
	}
	first := now // a model has no first scores
	if now.Judge == corpus.ByRules {
		first = corpus.FirstScore(fresh, firsts)
	}
	all := fractions(known)
	all["validation"], all["validation_now"] = fractions(first), fractions(now)
	return s.answer(all, nil, func() {
		s.printScore(known)
		s.say("\nValidation corpus: first scores")
		s.printCounts(first)
		s.say("\nTrajectories: %d, %d right at first, %d now", first.Trajectories, first.Right(), now.Right())
	})
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

func (s *session) printScore(score corpus.Score) {
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
	s.say("")
	s.printCounts(score)
	s.say("\nTrajectories: %d, judged by %s", score.Trajectories, score.Judge)
	if u := score.Use; u.Calls > 0 {
		s.say("%d questions, %d tokens in, %d out", u.Calls, u.InputTokens, u.OutputTokens)
	}
	if score.Use.Calls == 0 {
		s.hint("healthy: trajectories without a finding. Rules alone never return the verdict healthy.")
	}
}

// printCounts prints the counts of a score by kind and by agent, with intervals.
func (s *session) printCounts(score corpus.Score) {
	rows := [][]string{{"KIND OR AGENT", "CASES", "RIGHT", "SHARE", "95 % INTERVAL"}}
	for _, row := range score.Counts() {
		low, high := row.Interval()
		rows = append(rows, []string{row.Name, strconv.Itoa(row.Cases), strconv.Itoa(row.Right), fmt.Sprintf("%.2f", row.Share()), fmt.Sprintf("%.2f to %.2f", low, high)})
	}
	s.table(rows)
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

// fractions returns a score with its fractions, for JSON.
func fractions(score corpus.Score) map[string]any {
	part := func(c corpus.Share) map[string]any {
		return map[string]any{"is": c.Is, "said": c.Said, "right": c.Right, "precision": c.Precision(), "recall": c.Recall()}
	}
	labels, counts := map[string]any{}, []any{}
	for label, c := range score.Labels {
		labels[string(label)] = part(c)
	}
	for _, c := range score.Counts() {
		low, high := c.Interval()
		counts = append(counts, map[string]any{"name": c.Name, "cases": c.Cases, "right": c.Right, "share": c.Share(), "low": low, "high": high})
	}
	return map[string]any{
		"judge": score.Judge, "trajectories": score.Trajectories, "whole": part(score.Whole), "labels": labels, "counts": counts, "pairs": part(score.Pairs), "judged": score.Judged, "use": score.Use,
	}
}
