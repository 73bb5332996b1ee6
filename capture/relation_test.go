package capture

import (
	"slices"
	"strings"
	"testing"

	"cdc/capture/catalog"
	"cdc/capture/pgoutput"
)

// Each way in which a RELATION message isn't the table that we know is found, and
// a message of that table isn't.
func TestDiffers(t *testing.T) {
	table := func() *catalog.Table {
		return &catalog.Table{
			OID: testOID, Schema: "public", Name: "t", ReplicaIdentity: catalog.IdentityDefault, Key: []int{0},
			Columns: []catalog.Column{{Name: "id", TypeOID: 23, TypeMod: -1}, {Name: "v", TypeOID: 1043, TypeMod: 14}},
		}
	}
	message := func() *pgoutput.Relation {
		return &pgoutput.Relation{
			OID: testOID, Namespace: "public", Name: "t", ReplicaIdentity: 'd',
			Columns: []pgoutput.RelationColumn{{Key: true, Name: "id", TypeOID: 23, TypeMod: -1}, {Name: "v", TypeOID: 1043, TypeMod: 14}},
		}
	}
	for _, test := range []struct {
		name, want string // empty: the same
		change     func(m *pgoutput.Relation, is *catalog.Table)
	}{
		{"the same", "", func(*pgoutput.Relation, *catalog.Table) {}},
		{"full identity names all columns", "", func(m *pgoutput.Relation, is *catalog.Table) {
			m.ReplicaIdentity, is.ReplicaIdentity, m.Columns[1].Key = 'f', catalog.IdentityFull, true
		}},
		{"moved to another schema", "named other.t", func(m *pgoutput.Relation, _ *catalog.Table) { m.Namespace = "other" }},
		{"moved to pg_catalog", "named pg_catalog.t", func(m *pgoutput.Relation, _ *catalog.Table) { m.Namespace = "" }},
		{"renamed", "named public.u", func(m *pgoutput.Relation, _ *catalog.Table) { m.Name = "u" }},
		{"another identity", "replica identity", func(m *pgoutput.Relation, _ *catalog.Table) { m.ReplicaIdentity = 'i' }},
		{"identity became full", "replica identity", func(m *pgoutput.Relation, _ *catalog.Table) {
			m.ReplicaIdentity, m.Columns[1].Key = 'f', true
		}},
		{"a column more", "3 columns", func(m *pgoutput.Relation, _ *catalog.Table) {
			m.Columns = append(m.Columns, pgoutput.RelationColumn{Name: "n", TypeOID: 23, TypeMod: -1})
		}},
		{"a column less", "1 columns", func(m *pgoutput.Relation, _ *catalog.Table) { m.Columns = m.Columns[:1] }},
		{"column renamed", `"w"`, func(m *pgoutput.Relation, _ *catalog.Table) { m.Columns[1].Name = "w" }},
		{"columns swapped", "column 1", func(m *pgoutput.Relation, _ *catalog.Table) { slices.Reverse(m.Columns) }},
		{"another type", "type 25", func(m *pgoutput.Relation, _ *catalog.Table) { m.Columns[1].TypeOID = 25 }},
		{"another modifier", "column 2", func(m *pgoutput.Relation, _ *catalog.Table) { m.Columns[1].TypeMod = 24 }},
		{"more in the identity", `"v" is in only one`, func(m *pgoutput.Relation, _ *catalog.Table) { m.Columns[1].Key = true }},
		{"less in the identity", `"id" is in only one`, func(m *pgoutput.Relation, _ *catalog.Table) { m.Columns[0].Key = false }},
		{"another column in the identity", "is in only one", func(m *pgoutput.Relation, _ *catalog.Table) {
			m.Columns[0].Key, m.Columns[1].Key = false, true
		}},
	} {
		m, is := message(), table()
		test.change(m, is)
		err := differs(m, is)
		if test.want == "" != (err == nil) || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q in it", test.name, err, test.want)
		}
	}
}
