package taskcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/devstack"
	"github.com/omoi-dev/omoi/internal/sandbox"
)

// IO is the environment of the commands: streams, variables and folder.
type IO struct {
	// Env returns an environment variable; empty if it is not set. Values of global flags count as set.
	Env    func(name string) string
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	// Provider opens a sandbox provider with the configuration of this machine; nil: unsupported.
	Provider func(name string) (sandbox.Provider, error)
	// Dir is the base of relative paths; empty: the working directory of the process.
	Dir string
	// JSON points to the value of --json, which is valid once a command runs.
	JSON *bool
}

// Commands returns the commands of this package.
func Commands(streams IO) []*cobra.Command {
	makers := []func(*session) *cobra.Command{
		newRun, newCompare, newPS, newShow, newLogs, newTranscript, newCheckpoints, newDiff, newCheckout, newTake, newGive, newCancel, newRetry, newRewind, newFork, newReview,
		newSend, newAnswer, newMessage, newAllow, newProject, newBudget, newContract, newSandbox, newReceipt,
		newWork, newHost, newStorage, newKeys, newCredentials, newTicket, newGuardian, newConductor, newNotice, newWhy, newOrganization, newACP, newMCP,
	}
	commands := make([]*cobra.Command, 0, len(makers))
	for _, maker := range makers {
		s := &session{streams}
		cmd := maker(s)
		explainArguments(cmd)
		s.completeFlags(cmd)
		commands = append(commands, cmd)
	}
	return commands
}

// session holds the environment of one command.
type session struct{ IO }

// api returns the client of the server; see [BaseURL].
func (s *session) api() (*client.Client, error) {
	address, err := BaseURL(s.Env)
	if err != nil {
		return nil, err
	}
	return client.New(address, s.Env("OMOI_API_KEY")), nil
}

// homeOf returns the home directory of omoi.
func homeOf(env func(string) string) string {
	return cmp.Or(env("OMOI_HOME"), filepath.Join(env("HOME"), ".omoi"))
}

// BaseURL returns the URL of the server: OMOI_API_URL, else the api_url in dev.json in OMOI_HOME (default ~/.omoi),
// which a running omoi dev writes. Without either, the error has exit code 3 and the next step.
func BaseURL(env func(string) string) (string, error) {
	if set := env("OMOI_API_URL"); set != "" {
		return httpAddress(set)
	}
	home := homeOf(env)
	info, err := devstack.ReadInfo(home)
	if err == nil && info.APIURL == "" {
		err = errors.New("dev.json has no api_url")
	}
	if errors.Is(err, os.ErrNotExist) {
		err = errors.New("no server configured. Next: run omoi dev, or set OMOI_API_URL")
	} else if err != nil {
		err = fmt.Errorf("read dev.json in %s: %w. Next: run omoi dev, or set OMOI_API_URL", home, err)
	}
	if err != nil {
		return "", exit.With(exit.Unreachable, err)
	}
	return info.APIURL, nil
}

// httpAddress returns the URL of an address. The error has the exit code of wrong usage.
func httpAddress(address string) (string, error) {
	full := WithScheme(address)
	u, err := url.Parse(full)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", exit.Usagef("--api-url or OMOI_API_URL %s: not an HTTP URL; for example http://127.0.0.1:18000", address)
	}
	return full, nil
}

// WithScheme prefixes an address without a scheme with http://.
func WithScheme(address string) string {
	if address == "" || strings.Contains(address, "://") {
		return address
	}
	return "http://" + address
}

func (s *session) style() render.Style { return StyleOf(s.Stdout, s.Env) }

// printer is say, hint or note.
type printer func(format string, args ...any)

// say writes a line to standard output.
func (s *session) say(format string, args ...any) { _, _ = fmt.Fprintf(s.Stdout, format+"\n", args...) }

// hint writes a line to standard output unless --json is set.
func (s *session) hint(format string, args ...any) {
	if !*s.JSON {
		s.say(format, args...)
	}
}

// note writes a line to standard error unless --json is set.
func (s *session) note(format string, args ...any) {
	if !*s.JSON {
		_, _ = fmt.Fprintf(s.Stderr, format+"\n", args...)
	}
}

// printJSON writes v to standard output as indented JSON.
func (s *session) printJSON(v any) error { return render.JSON(s.Stdout, v) }

// printLine writes v to standard output as JSON on one line.
func (s *session) printLine(v any) error { return render.JSONLine(s.Stdout, v) }

// path makes a path of the command line absolute and expands ~, which a shell does not expand in --repo=~/src.
func (s *session) path(p string) (string, error) {
	if rest, ok := strings.CutPrefix(p, "~"); ok && (rest == "" || rest[0] == filepath.Separator) && s.Env("HOME") != "" {
		return filepath.Join(s.Env("HOME"), rest), nil
	}
	if filepath.IsAbs(p) || s.Dir == "" {
		return filepath.Abs(p)
	}
	return filepath.Join(s.Dir, p), nil
}

// offered is the number of tasks in a shell completion, completionTime the timeout of its request.
const (
	offered        = 50
	completionTime = 2 * time.Second
)

// completion returns a shell completion of the items that read returns. word returns the completed word and its
// description.
func completion[T any](s *session, read func(*client.Client, context.Context) ([]T, error), word func(T) (string, string)) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) (out []cobra.Completion, _ cobra.ShellCompDirective) {
		api, err := s.api()
		if err != nil || len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), completionTime)
		defer cancel()
		found, _ := read(api, ctx) // after an error the completion is empty
		for _, one := range found {
			text, description := word(one)
			out = append(out, cobra.CompletionWithDesc(text, render.OneLine(description, 60)))
		}
		return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

// completeTasks completes the newest tasks.
func (s *session) completeTasks(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	read := func(api *client.Client, ctx context.Context) ([]client.Task, error) {
		page, err := newest(ctx, api, client.TaskFilter{}, offered, false)
		return page.Items, err
	}
	return completion(s, read, func(t client.Task) (string, string) { return render.Name(t.Key, t.ID), t.Title })(cmd, args, typed)
}

// completeProjects completes the projects.
func (s *session) completeProjects() cobra.CompletionFunc {
	return completion(s, AllProjects, func(p client.Project) (string, string) { return render.Name(p.Key, p.ID), p.Name })
}
