package taskcontract

import (
	"errors"
	"fmt"
	"io"
	"path"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/omoi-dev/omoi/internal/redact"
)

// Limits of the text of a contract.
const (
	maxText  = 16 << 10 // bytes
	maxItems = 100      // of a list
	maxItem  = 500      // bytes of an item
)

// Parse reads a contract from YAML, of which JSON is a part. The error names the line. An empty text leaves everything
// unknown.
func Parse(text string) (Contract, error) {
	var c Contract
	if len(text) > maxText {
		return c, fmt.Errorf("the text has %d bytes: at most %d are allowed", len(text), maxText)
	}
	d := yaml.NewDecoder(strings.NewReader(text))
	d.KnownFields(true)
	switch err := d.Decode(&c); {
	case errors.Is(err, io.EOF):
		return c, nil
	case err != nil:
		return Contract{}, plain(err)
	}
	if err := d.Decode(new(any)); !errors.Is(err, io.EOF) {
		return Contract{}, errors.New("the text has a second YAML document: expected one")
	}
	if err := c.check(text); err != nil {
		return Contract{}, err
	}
	return c, nil
}

// plain returns an error of the YAML library without names of Go types, and with the known keys if one is unknown.
func plain(err error) error {
	said := strings.TrimPrefix(err.Error(), "yaml: ")
	if wrong, ok := errors.AsType[*yaml.TypeError](err); ok {
		said = strings.Join(wrong.Errors, "; ")
	}
	said = strings.NewReplacer(" in type taskcontract.Contract", "", "into []string", "as a list of texts", "into taskcontract.Contract", "as an object", "into bool", "as true or false", "into string", "as a text").Replace(said)
	if strings.Contains(said, "not found") {
		said = strings.ReplaceAll(said, "not found", "is unknown") + ": known are " + strings.Join(keys(), ", ")
	}
	return errors.New(said)
}

// keys returns the names of the fields.
func keys() (names []string) {
	for f := range reflect.TypeFor[Contract]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		names = append(names, name)
	}
	return names
}

// Unknown returns the names of the fields that neither part has. A contract without constraints has none.
func (f InForce) Unknown() (names []string) {
	accepted, proposed := reflect.ValueOf(f.Accepted), reflect.ValueOf(f.Proposed)
	for i, name := range keys() {
		if accepted.Field(i).IsZero() && proposed.Field(i).IsZero() && name != "constraints" {
			names = append(names, name)
		}
	}
	return names
}

// check refuses values that no rule could apply.
func (c Contract) check(text string) error {
	for key, items := range c.lists() {
		if len(items) > maxItems {
			return fmt.Errorf("line %d: %s has %d items: at most %d are allowed", lineOf(text, key, 0), key, len(items), maxItems)
		}
		for i, item := range items {
			if wrong := wrongItem(item, strings.HasSuffix(key, "_paths")); wrong != "" {
				return fmt.Errorf("line %d: item %d of %s %s", lineOf(text, key, i), i+1, key, wrong)
			}
		}
	}
	return nil
}

func (c Contract) lists() map[string][]string {
	return map[string][]string{
		"allowed_paths": c.AllowedPaths, "forbidden_paths": c.ForbiddenPaths, "forbidden_commands": c.ForbiddenCommands,
		"constraints": c.Constraints, "test_command": unless(c.TestCommand == "", []string{c.TestCommand}),
	}
}

func wrongItem(item string, isPath bool) string {
	_, err := path.Match(item, "")
	switch {
	case strings.TrimSpace(item) == "":
		return "is empty"
	case len(item) > maxItem:
		return fmt.Sprintf("has %d bytes: at most %d are allowed", len(item), maxItem)
	case strings.ContainsRune(item, 0):
		return "contains the character U+0000"
	case strings.Contains(item, redact.Hidden):
		return "contains " + redact.Hidden + " in place of a secret"
	case isPath && err != nil:
		return fmt.Sprintf("is not a valid pattern: %q", item)
	}
	return ""
}

// lineOf returns the line of an item of a list in a text that was parsed.
func lineOf(text, key string, item int) int {
	var doc yaml.Node
	if yaml.Unmarshal([]byte(text), &doc) != nil || len(doc.Content) == 0 {
		return 1
	}
	at := doc.Content[0]
	i := slices.IndexFunc(at.Content, func(n *yaml.Node) bool { return n.Value == key })
	if i < 0 || i+1 >= len(at.Content) {
		return at.Line
	}
	if value := at.Content[i+1]; item < len(value.Content) {
		return value.Content[item].Line
	}
	return at.Content[i].Line
}

// YAML returns the contract as [Parse] reads it; empty: everything is unknown.
func (c Contract) YAML() string {
	raw, err := yaml.Marshal(c)
	if err != nil || string(raw) == "{}\n" { // an error cannot occur: the fields are texts
		return ""
	}
	return string(raw)
}

// Scrubbed returns the contract without what has the form of a credential.
func (f InForce) Scrubbed() InForce {
	return InForce{Accepted: f.Accepted.scrubbed(), Proposed: f.Proposed.scrubbed()}
}

func (c Contract) scrubbed() Contract {
	for _, list := range []*[]string{&c.AllowedPaths, &c.ForbiddenPaths, &c.ForbiddenCommands, &c.Constraints} {
		*list = slices.Clone(*list)
		for i, text := range *list {
			(*list)[i] = redact.Scrub(text, nil)
		}
	}
	c.TestCommand = redact.Scrub(c.TestCommand, nil)
	return c
}
