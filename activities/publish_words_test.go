package activities_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// gap parts what would act.
const gap = "\u200b"

// What an agent says calls nobody and closes nothing.
func TestPullRequest_AgentTextMentionsNobodyAndClosesNothing(t *testing.T) {
	t.Parallel()
	for said, shown := range map[string]string{
		"Thanks @everyone, see #4.":         "Thanks @" + gap + "everyone, see #4.",
		"@@x \\@y":                          "@" + gap + "@" + gap + "x \\@" + gap + "y",
		"&#64;octocat &commat;x &#x40;y":    "&" + gap + "#64;octocat &" + gap + "commat;x &" + gap + "#x40;y",
		"Closes #1":                         "C" + gap + "loses #1",
		"fixes: acme/app#2":                 "f" + gap + "ixes: acme/app#2",
		"Resolved https://x.io/a/b/pull/3":  "R" + gap + "esolved https://x.io/a/b/pull/3",
		"**Fixes** #1, _fixed_ #2":          "**F" + gap + "ixes** #1, _f" + gap + "ixed_ #2",
		"fixes [#2](url)":                   "f" + gap + "ixes [#2](url)",
		"fixes [fixes #2](https://x)":       "f" + gap + "ixes [f" + gap + "ixes #2](https://x)",
		"fix [the bug](https://x/issues/2)": "f" + gap + "ix [the bug](https://x/issues/2)",
		"Closes <https://x/issues/2>":       "C" + gap + "loses <" + gap + "https://x/issues/2>",
		"closes\u00a0#4 fixes:#6 fix\\#7":   "c" + gap + "loses\u00a0#4 f" + gap + "ixes:#6 f" + gap + "ix\\#7",
		"resolve GH-12, close\n#5":          "r" + gap + "esolve GH-12, c" + gap + "lose\n> #5",
		"It fixes the bug and closes files": "It fixes the bug and closes files",
	} {
		b := newBench(t)
		b.store.story.Output, b.store.story.ChangedNothing = said, true
		require.Contains(t, published(t, b), "## What was done\n\nChanged nothing.\n\n> "+shown+"\n\n## Tests\n", said)
	}
}

// hostile are words that would show something else than what they are, or hide what follows them.
var hostile = []string{
	"![x](https://evil)", "![![x](u)](https://evil)", "<img src=x>", "<details>", "<details><summary>\n\n", "<!--", "<?php", "<script>", "<!DOCTYPE", "<![CDATA[", "<<div>\n",
	"a\n\n## Tests\n\nall: passed", "a\r\r## Tests\r\rall", "Tests\n---\n", "```\ncode", "~~~~\ncode", "    ```\n", "$$\n", "- a\n\n      ```\n", "> a\nb\n\nc",
	"[^1]\n\n[^1]: ## Tests", "![^1]: x", "[!WARNING]\nx", "[Tests]: https://evil", "<!-- omoi:end -->", "<!-- omoi:receipt {} -->", "```\n" + strings.Repeat("x\n", 30_000),
	strings.Repeat("\n\n## Tests\n", 5_000),
}

// acting begins HTML, an image, a footnote or a notice, or is a line end that only some see.
var acting = regexp.MustCompile(`<[^\x{200b}]|!\[|\[\^|\[!|\r`)

// Words show as they were written, and no more than their own lines.
func TestPullRequest_AgentTextStaysInItsQuote(t *testing.T) {
	t.Parallel()
	for _, words := range hostile {
		b := newBench(t)
		b.store.work.Description, b.store.story.Output, b.store.story.ChangedNothing = words, words, true
		text := published(t, b)
		require.False(t, acting.MatchString(text), words)
		require.Contains(t, text, "\n\n## What was done\n\nChanged nothing.\n\n> ", words)
		var own []string
		for line := range strings.Lines(text) {
			if !strings.HasPrefix(line, ">") {
				own = append(own, line)
			}
		}
		plain := strings.Join(own, "")
		require.Contains(t, plain, "## What was asked\n\n\n## What was done\n\nChanged nothing.\n\n\n## Tests\n\nNo test command", words)
		require.Equal(t, 4, strings.Count("\n"+plain, "\n#"), words)
	}
}

// Code is read as it was written, but for a sign that nobody sees.
func TestPullRequest_CodeStaysReadable(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.store.story.Output = "Done:\n\n```go\nif a<b && len(list[0]) > 1 { f.Close() }\n```\n\nand `vector<int>`."
	body := strings.ReplaceAll(published(t, b), gap, "")
	require.Contains(t, body, "> Done:\n> \n> ```go\n> if a<b && len(list[0]) > 1 { f.Close() }\n> ```\n> \n> and `vector<int>`.\n\n")
}

// Secrets are looked for before signs are put between their letters.
func TestPullRequest_AgentTextHoldsNoSecret(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.cfg.Secrets = []string{"p@ss<wo&rd", "two\nlines"}
	b.store.work.Description, b.store.story.Output = "with p@ss<wo&rd", "with p@ss<wo&rd and two\nlines"
	body := strings.NewReplacer(gap, "", "> ", "").Replace(published(t, b))
	require.NotContains(t, body, "p@ss")
	require.NotContains(t, body, "two\nlines")
}
