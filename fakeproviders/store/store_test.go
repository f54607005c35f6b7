package store

import (
	"os"
	"strings"
	"testing"
)

// TestSchemaIsTheOraclesContract keeps the file that the oracles are tested on in step with the schema.
func TestSchemaIsTheOraclesContract(t *testing.T) {
	text, err := os.ReadFile("../../oracles/testdata/store.sql")
	if err != nil {
		t.Fatal(err)
	}
	if strings.TrimSpace(string(text)) != strings.TrimSpace(schema) {
		t.Error("oracles/testdata/store.sql differs from the schema: copy the schema there and see that the oracles still read it")
	}
}
