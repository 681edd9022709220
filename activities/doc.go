// Package activities does the side work of the workflows: one file a capability. What it
// needs of the rest of omoi is declared in ports.go; names and payloads come from package
// contract, so that workflows never import this package.
//
// Every activity looks first and acts then: it can be killed at any line and run again.
package activities
