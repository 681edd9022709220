package activities

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/receipt"
	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/task"
)

// Limits of the text of a pull request.
const (
	maxPullTitle   = 250
	maxPullText    = 14_000
	maxPullOutput  = 4_000
	maxPullReviews = 4_000 // of all validation rounds together
	maxPullFiles   = 50
	maxPullPaths   = 4_000 // bytes of all file names
	maxPullFailed  = 20    // newest failed attempts; the maximum number of attempts of a task
)

// pullTitle returns the title of the pull request: the task's key and title in one line.
func pullTitle(title, key string) string {
	return cutRunes("["+key+"] "+strings.Join(strings.Fields(title), " "), maxPullTitle)
}

// story returns how the task was done so far, and the task with the base of its pull request, which has the commits of all tasks that
// it continues. No pull request may fail for its description: a story that cannot be read is empty.
func (a *Activities) story(ctx context.Context, work task.Work) (receipt.PullRequestData, task.Work) {
	story, err := a.deps.Tasks.Story(ctx, work.OrganizationID, work.TaskID)
	if err != nil {
		a.log.WarnContext(ctx, "load task history failed, pull request described without it", slog.String("task_id", work.TaskID), slog.String("error", a.brief(err.Error())))
	}
	if first := story.All()[0].Task; len(story.Earlier) > 0 && first.Base != nil {
		work.Base = *first.Base
	}
	return story, work
}

// changes reads the changed files of the branch and stores their size. Files that the host does not give are left out of the description.
func (a *Activities) changes(ctx context.Context, host scm.Host, work task.Work) ([]changedFile, error) {
	var stat diffStat
	if err := host.Diff(ctx, scm.Repo(work.Repo), work.Base, work.Branch, &stat); err != nil {
		a.log.WarnContext(ctx, "read changed files failed, pull request described without them", slog.String("task_id", work.TaskID), slog.String("error", a.brief(err.Error())))
		return nil, nil
	}
	if files, lines, known := stat.size(); known {
		if err := a.deps.Tasks.SaveChangeSize(ctx, work.TaskID, files, lines); err != nil {
			return nil, err
		}
	}
	return stat.all(), nil
}

// pullText returns the description of the pull request: request, result and usage.
func (a *Activities) pullText(work task.Work, story receipt.PullRequestData, files []changedFile) string {
	work.Execution.TestCommand, work.Description = a.scrub(work.Execution.TestCommand), a.scrub(work.Description)
	story = a.scrubbed(story)
	for n := range files {
		files[n].Path, files[n].OldPath = a.scrub(files[n].Path), a.scrub(files[n].OldPath)
	}
	return a.scrub(a.pullBody(work, story, files))
}

func (a *Activities) pullBody(work task.Work, story receipt.PullRequestData, files []changedFile) string {
	var b strings.Builder
	b.WriteString("Resolves #" + work.TicketID + ".\n")
	section(&b, "What was asked", askedText(work, story))
	section(&b, "What was done", doneText(story))
	section(&b, "Files", fileLines(files))
	section(&b, "Tests", testLine(work.Execution.TestCommand, story))
	section(&b, "Validation", reviewLines(story.Task))
	section(&b, "How it was made", a.madeLines(work, story))
	b.WriteString("\nOpened by omoi.\n\n")
	return b.String()
}

// section writes a section; it leaves out an empty one.
func section(b *strings.Builder, title, text string) {
	if text != "" {
		b.WriteString("\n## " + title + "\n\n" + text + "\n")
	}
}

// code returns text as a code span in one line.
func code(text string) string {
	text = strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "<!--", "<"+gap+"!--")
	return "`" + strings.ReplaceAll(text, "`", "'") + "`"
}

// shown are the files that a text of bounded size has room for.
func shown(files []changedFile) []changedFile {
	room := maxPullPaths
	for n, f := range files {
		if room -= len(f.Path) + len(f.OldPath); n == maxPullFiles || room < 0 {
			return files[:n]
		}
	}
	return files
}

func fileLines(files []changedFile) string {
	var lines []string
	for _, f := range shown(files) {
		name := code(f.Path)
		if f.OldPath != "" {
			name = code(f.OldPath) + " → " + name
		}
		amount := fmt.Sprintf("+%d −%d", f.Added, f.Removed)
		if f.Link {
			amount = "links to a commit of another repository; its files are not in this branch"
		}
		lines = append(lines, "- "+name+" "+amount)
	}
	if more := len(files) - len(lines); more > 0 {
		lines = append(lines, fmt.Sprintf("- and %d more", more))
	}
	return strings.Join(lines, "\n")
}

// testLine says what is known of tests: nothing is made of an agent's silence, nor of its word alone.
func testLine(command string, story receipt.PullRequestData) string {
	if all := story.Task.TestRepeats(); len(all) > 0 {
		return repeatLine(all[len(all)-1])
	}
	name := "No test command is configured"
	if command != "" {
		name = code(command)
	}
	passed := story.TestsPassed
	switch {
	case passed != nil && *passed:
		return name + ": passed, as omoi-agent reports from the agent's sandbox."
	case passed != nil:
		return name + ": failed, as omoi-agent reports from the agent's sandbox."
	case story.TestsSaid:
		return name + "; the agent says that its tests passed. omoi knows of no run of its own."
	case command != "":
		return name + ": omoi knows of no run of its own, and the agent does not say that it passed."
	}
	return name + "; the agent ran none that omoi knows of."
}

// repeatLine says what the newest repeat of the test command has shown. It says more than a report from the agent's sandbox, which any
// program in that sandbox can forge.
func repeatLine(r task.TestRepeat) string {
	r.Changed = slices.Clone(r.Changed)
	for n, path := range r.Changed {
		r.Changed[n] = code(path)
	}
	line := code(r.Command) + ": " + r.Words() + " Run by omoi at commit " + code(r.Commit) + ", after the agent had ended, in a sandbox of its own in which no agent ran."
	if r.Added > 0 {
		line += fmt.Sprintf(" Tests that the agent added: %d files.", r.Added)
	}
	return line
}

// runURL is the page of the task's workflow; empty if nobody said where that is.
func (a *Activities) runURL(taskID string) string {
	if a.cfg.UIURL == "" {
		return ""
	}
	return strings.TrimRight(a.cfg.UIURL, "/") + "/namespaces/" + url.PathEscape(a.cfg.Namespace) + "/workflows/" + contract.TaskWorkflowID(taskID)
}
