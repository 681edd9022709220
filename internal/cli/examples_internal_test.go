package cli

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

func TestExamples_EveryCommandHasTwo(t *testing.T) {
	t.Parallel()
	eachCommand(newRoot(testGlobals(&bytes.Buffer{})), func(cmd *cobra.Command) {
		lines := exampleLines(cmd)
		require.GreaterOrEqual(t, len(lines), 2, cmd.CommandPath())
		for _, line := range lines {
			require.Contains(t, line, cmd.CommandPath(), "an example shows its own command")
		}
	})
}

func TestExamples_NameACommand(t *testing.T) {
	t.Parallel()
	root := newRoot(testGlobals(&bytes.Buffer{}))
	for line := range strings.Lines(exampleTexts) {
		if path := strings.TrimSpace(line); !strings.HasPrefix(line, " ") {
			found, _, err := root.Find(strings.Fields(path)[1:])
			require.NoError(t, err)
			require.Equal(t, path, found.CommandPath())
		}
	}
}

// TestExamples_Parse parses each example as its command would: flags, arguments and PreRunE.
func TestExamples_Parse(t *testing.T) {
	t.Parallel()
	eachCommand(newRoot(testGlobals(&bytes.Buffer{})), func(shown *cobra.Command) {
		for _, line := range exampleLines(shown) {
			_, after, _ := strings.Cut(line, shown.CommandPath())
			args := slices.Concat(strings.Fields(shown.CommandPath())[1:], words(after))
			if end := slices.IndexFunc(args, func(word string) bool { return word == "|" || word == "<" || word == ">" }); end >= 0 {
				args = args[:end]
			}
			cmd, args, err := newRoot(testGlobals(&bytes.Buffer{})).Find(args) // a new tree, so that flags of other examples are not set
			require.NoError(t, err, line)
			require.NoError(t, cmd.ParseFlags(args), line)
			require.NoError(t, cmd.ValidateArgs(cmd.Flags().Args()), line)
			if cmd.PreRunE != nil && cmd.Name() != "shell" { // PreRunE of shell needs a terminal
				require.NoError(t, cmd.PreRunE(cmd, cmd.Flags().Args()), line)
			}
		}
	})
}

func TestFlags_AreDescribed(t *testing.T) {
	t.Parallel()
	eachCommand(newRoot(testGlobals(&bytes.Buffer{})), func(cmd *cobra.Command) {
		cmd.InitDefaultHelpFlag()
		cmd.Flags().VisitAll(func(flag *pflag.Flag) {
			require.NotRegexp(t, `^$|\.$`, flag.Usage, "%s --%s", cmd.CommandPath(), flag.Name)
		})
	})
}

func exampleLines(cmd *cobra.Command) []string {
	return strings.FieldsFunc(cmd.Example, func(r rune) bool { return r == '\n' })
}

// words splits a shell command line into words and removes the quotes.
func words(line string) (out []string) {
	word, quote := "", rune(0)
	for _, r := range line + " " {
		switch {
		case r == quote:
			quote, word = 0, word+"\x00"
		case quote != 0, r != ' ' && r != '"' && r != '\'':
			word += string(r)
		case r == ' ' && word != "":
			out, word = append(out, strings.ReplaceAll(word, "\x00", "")), ""
		case r != ' ':
			quote = r
		}
	}
	return out
}
