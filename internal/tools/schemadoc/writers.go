package schemadoc

import (
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
)

var (
	writes = regexp.MustCompile(`\b(?:INSERT INTO|UPDATE|DELETE FROM|COPY) (\w+)`)
	query  = regexp.MustCompile(`(?m)^-- name: (\w+) :`)
)

// writersOf returns the Go files and the functions of the database that write each table. A query of
// queries/*.sql belongs to the files that call its method.
func writersOf(store fs.FS, functions map[string]string) (map[string][]string, error) {
	found := map[string][]string{}
	note := func(writer, text string) {
		for _, m := range writes.FindAllStringSubmatch(text, -1) {
			if !slices.Contains(found[m[1]], writer) {
				found[m[1]] = append(found[m[1]], writer)
			}
		}
	}
	for name, body := range functions {
		note(name, body)
	}
	queries, err := queriesOf(store)
	if err != nil {
		return nil, err
	}
	files, err := texts(store, "*.go")
	if err != nil {
		return nil, err
	}
	for name, text := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		note(name, text)
		for method, statement := range queries {
			if strings.Contains(text, "."+method+"(") {
				note(name, statement)
			}
		}
	}
	for table := range found {
		slices.Sort(found[table])
	}
	return found, nil
}

// queriesOf returns the statements of queries/*.sql by name.
func queriesOf(store fs.FS) (map[string]string, error) {
	files, err := texts(store, "queries/*.sql")
	found := map[string]string{}
	for _, text := range files {
		at := query.FindAllStringSubmatchIndex(text, -1)
		for n, m := range at {
			end := len(text)
			if n+1 < len(at) {
				end = at[n+1][0]
			}
			found[text[m[2]:m[3]]] = text[m[1]:end]
		}
	}
	return found, err
}

// texts returns the files that match a pattern.
func texts(from fs.FS, pattern string) (map[string]string, error) {
	found := map[string]string{}
	names, err := fs.Glob(from, pattern)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", pattern, err)
	}
	for _, name := range names {
		text, err := fs.ReadFile(from, name)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		found[name] = string(text)
	}
	return found, nil
}
