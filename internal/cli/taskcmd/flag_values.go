package taskcmd

import (
	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/docs/examples"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/feedback"
	"github.com/omoi-dev/omoi/internal/supervise/corpus"
	"github.com/omoi-dev/omoi/internal/task"
)

// completeFlags adds shell completion for the values of flags, to a command and its subcommands. A flag has the same
// values in every command.
func (s *session) completeFlags(cmd *cobra.Command) {
	for name, values := range s.flagValues() {
		if cmd.Flags().Lookup(name) != nil {
			_ = cmd.RegisterFlagCompletionFunc(name, values) // fails only for an unknown flag
		}
	}
	for _, sub := range cmd.Commands() {
		s.completeFlags(sub)
	}
}

// flagValues returns the completions of flags that have a fixed set of values or name an object of the server.
func (s *session) flagValues() map[string]cobra.CompletionFunc {
	return map[string]cobra.CompletionFunc{
		"agent":            oneOf(task.RuntimeNames()),
		"provider":         oneOf(task.ProviderNames()),
		"sandbox":          oneOf(task.ProviderNames()),
		"priority":         oneOf([]string{"CRITICAL", "HIGH", "MEDIUM", "LOW"}),
		"status":           oneOf(task.Statuses()),
		"script":           scripts,
		"validator-script": scripts,
		"on-feedback":      oneOf([]feedback.Mode{feedback.ModeOff, feedback.ModeMessage, feedback.ModeRevise}),
		"scope":            oneOf([]string{"read", "write", "admin"}),
		"plan":             oneOf(task.Plans()),
		"label":            oneOf(corpus.Labels()),
		"mutator":          oneOf(corpus.Mutators()),
		"type":             oneOf(event.Types(0)),
		"project":          s.projects,
	}
}

func oneOf[T ~string](values []T) cobra.CompletionFunc {
	return cobra.FixedCompletions(completions(values, ""), cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveKeepOrder)
}

func completions[T ~string](values []T, prefix string) (words []cobra.Completion) {
	for _, value := range values {
		words = append(words, prefix+string(value))
	}
	return words
}

// scripts completes names of example scripts and files.
func scripts(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return completions(examples.Names(), examplePrefix), cobra.ShellCompDirectiveDefault
}

// projects completes projects, also if arguments are given.
func (s *session) projects(cmd *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return s.completeProjects()(cmd, nil, typed)
}
