// Package codingagents installs the programs of coding agents for tests, and holds the record of what tests with them saw, from which
// the table of docs/CODING-AGENTS-CHECKS.md is made.
package codingagents
