package activities

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/omoi-dev/omoi/internal/cost"
	"github.com/omoi-dev/omoi/internal/feedback"
	"github.com/omoi-dev/omoi/internal/receipt"
	"github.com/omoi-dev/omoi/internal/task"
)

// scrubbed removes secrets from the texts of a story. It must run before invisible characters are inserted into words.
func (a *Activities) scrubbed(story receipt.PullRequestData) receipt.PullRequestData {
	story.Output, story.Task.Description = a.scrub(story.Output), a.scrub(story.Task.Description)
	story.Task.Reviews, story.Earlier = slices.Clone(story.Task.Reviews), slices.Clone(story.Earlier)
	for n, r := range story.Task.Reviews {
		story.Task.Reviews[n].Feedback = a.scrub(r.Feedback)
	}
	for n, one := range story.Earlier {
		story.Earlier[n] = a.scrubbed(one)
	}
	return story
}

// askedText returns the first request and the feedback of later tasks of the pull request.
func askedText(work task.Work, story receipt.PullRequestData) string {
	if len(story.Earlier) == 0 {
		return quoted(plainText(work.Description, maxPullText), maxPullText)
	}
	share := maxPullText / (len(story.Earlier) + 1)
	parts := []string{quoted(plainText(story.Earlier[0].Task.Description, share), share)}
	for n, one := range story.All()[1:] {
		parts = append(parts, roundTitle(n+1)+quoted(agentText(feedback.Revised(one.Task.Description), share), share))
	}
	return strings.Join(parts, "\n\n")
}

// doneText returns the results that agents reported, task by task.
func doneText(story receipt.PullRequestData) string {
	share := maxPullOutput * 2 / (len(story.Earlier) + 2) //nolint:mnd // one task has all of it, and many have twice of that together
	var parts []string
	for n, one := range story.All() {
		words := wordsOf(one, share)
		if words != "" && n > 0 {
			words = roundTitle(n) + words
		}
		if words != "" {
			parts = append(parts, words)
		}
	}
	return strings.Join(parts, "\n\n")
}

// wordsOf returns an agent's final message, or a note if it is the only sign of work.
func wordsOf(one receipt.PullRequestData, share int) string {
	words := quoted(agentText(one.Output, share), share)
	switch {
	case one.CommittedByOmoi > 0:
		words += fmt.Sprintf("\n\nFiles that the agent left uncommitted and omoi committed: %d.", one.CommittedByOmoi)
	case one.ChangedNothing:
		words = "Changed nothing.\n\n" + words
	}
	return strings.TrimSpace(words)
}

func roundTitle(n int) string { return fmt.Sprintf("### After feedback, round %d\n\n", n) }

func (a *Activities) madeLines(work task.Work, story receipt.PullRequestData) string {
	var lines []string
	for n, one := range story.Earlier {
		lines = append(lines, taskLine(one.Task.ID)+roundWords(n))
	}
	last := taskLine(work.TaskID)
	if n := len(story.Earlier); n > 0 {
		last += roundWords(n)
	}
	lines = append(
		lines, last,
		"- branch `"+work.Branch+"`, agent `"+work.Agent+"`",
		"- attempts: "+attemptWords(work, story),
		"- interventions: "+interventionWords(story),
	)
	if story.Task.ID != "" {
		lines = append(lines, "- cost: "+costWords(story.Sum()))
	}
	if link := a.runURL(work.TaskID); link != "" {
		lines = append(lines, "- run: "+link)
	}
	return strings.Join(lines, "\n")
}

func taskLine(id string) string {
	return "- task `" + id + "`: `omoi show " + id + "`, `omoi receipt " + id + "`"
}

// roundWords returns which of several tasks a text belongs to.
func roundWords(n int) string {
	if n == 0 {
		return ", what was asked first"
	}
	return fmt.Sprintf(", after feedback, round %d", n)
}

// attemptsOf counts the attempts of all tasks of a pull request. The attempts of the newest task come from work.
func attemptsOf(work task.Work, story receipt.PullRequestData) int {
	sum := work.Attempt
	for _, one := range story.Earlier {
		sum += one.Task.AttemptCount
	}
	return sum
}

func attemptWords(work task.Work, story receipt.PullRequestData) string {
	words := []string{strconv.Itoa(attemptsOf(work, story))}
	if n := len(story.Earlier); n > 0 {
		words[0] += fmt.Sprintf(" in %d tasks", n+1)
	}
	var failed []string
	for n, one := range story.All() {
		for _, at := range failedOf(one.Task.Attempts) {
			said := fmt.Sprintf("%d failed (%s)", at.Number, at.FailureClass)
			if n > 0 {
				said += fmt.Sprintf(" in round %d", n)
			}
			failed = append(failed, said)
		}
	}
	if more := len(failed) - maxPullFailed; more > 0 {
		words, failed = append(words, fmt.Sprintf("%d failed before", more)), failed[more:]
	}
	return strings.Join(append(words, failed...), ", ")
}

// failedOf returns the failed attempts. It leaves out an attempt whose work is being published, and validators.
func failedOf(attempts []task.Attempt) []task.Attempt {
	var failed []task.Attempt
	for n, at := range attempts {
		newest := !slices.ContainsFunc(attempts[n+1:], func(later task.Attempt) bool { return later.Kind != task.KindValidation })
		if at.FailureClass != task.ClassNone && (at.FailureClass != task.ClassPublish || !newest) {
			failed = append(failed, at)
		}
	}
	return failed
}

func interventionWords(story receipt.PullRequestData) string {
	sum := story.Sum()
	var words []string
	for _, s := range sum.Spoken {
		words = append(words, fmt.Sprintf("%d × %s by %s", s.Count, s.Kind, s.By))
	}
	for _, v := range sum.Receipt.AccessSessions {
		words = append(words, "a person's "+v.Kind+" in a sandbox")
	}
	if n := sum.Task.Replacements; n > 0 {
		words = append(words, fmt.Sprintf("%d × replacement of the agent", n))
	}
	if n := sum.Task.Revisions; n > 0 {
		words = append(words, fmt.Sprintf("%d × revision", n))
	}
	if n := len(story.Earlier); n > 0 {
		words = append(words, fmt.Sprintf("%d × a new task after feedback", n))
	}
	return cmp.Or(strings.Join(words, ", "), "none")
}

// costWords returns the total cost of all tasks of a pull request.
func costWords(sum receipt.PullRequestData) string {
	var in, out int64
	for _, at := range sum.Task.Attempts {
		in, out = in+at.InputTokens, out+at.OutputTokens
	}
	words := []string{fmt.Sprintf("models %s (%d tokens in, %d out)", cost.Text(sum.Receipt.CostUSD, sum.Receipt.CostUnknown, "%.4f USD"), in, out)}
	for _, c := range sum.Receipt.Costs {
		words = append(words, fmt.Sprintf("sandboxes %.4f %s", c.Amount, c.Currency))
	}
	if n := sum.Receipt.SandboxesWithoutPrice; n > 0 {
		words = append(words, fmt.Sprintf("%d sandboxes without a price", n))
	}
	return strings.Join(words, ", ")
}

// gap is a zero-width space. It breaks mentions and keywords that a Git host would act on. It also works in code, where
// an escape would be visible.
const gap = "\u200b"

var (
	// closing matches words that close an issue, anywhere in a text.
	closing = regexp.MustCompile(`(?i)close[sd]?|fix(?:es|ed)?|resolve[sd]?`)
	// issue matches an issue reference right after such a word, with only punctuation or a link between them.
	issue = regexp.MustCompile(`(?i)^[^\p{L}\p{N}#]*(?:\[[^\]]{0,300}\][^\p{L}\p{N}#]*)?(?:[\w.\\-]+/[\w.\\-]+)?(?:#\d|gh\W?\d|https?\W)`)
)

// plainText returns text of a user or an agent so that it is shown as written: it cannot end or imitate omoi's markers,
// nor hide what follows.
func plainText(text string, limit int) string {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(strings.TrimSpace(text))
	for _, begin := range []string{"<", "&", "![", "[^", "[!"} { // HTML, entities, images, footnotes, notices
		text = strings.ReplaceAll(text, begin, begin[:1]+gap+begin[1:])
	}
	return cutRunes(text, limit)
}

// agentText returns text of an agent or reviewer that mentions nobody and closes no issue: a pull request acts with
// omoi's rights.
func agentText(text string, limit int) string {
	return plainText(strings.ReplaceAll(unclosing(text), "@", "@"+gap), limit)
}

// unclosing breaks the words that would close an issue.
func unclosing(text string) string {
	var b strings.Builder
	done := 0
	for _, at := range closing.FindAllStringIndex(text, -1) {
		if issue.MatchString(text[at[1]:]) {
			b.WriteString(text[done:at[0]+1] + gap)
			done = at[0] + 1
		}
	}
	return b.String() + text[done:]
}

// quoted returns text as a block quote. Code fences, headings and lists of the text cannot extend beyond it.
func quoted(text string, limit int) string {
	if text == "" {
		return ""
	}
	return strings.TrimSuffix(cutRunes("> "+strings.ReplaceAll(text, "\n", "\n> "), limit), "\n…")
}
