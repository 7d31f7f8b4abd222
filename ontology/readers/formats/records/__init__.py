"""Read records, of which each describes one label, and label paths: from tables, JSON and plain lines.

`records` reads records and `paths` label paths. `recordcolumns` says what each column is, `recordtable` and
`recordjson` find records, `recordlabels` turns them into labels, and `recordlifting` closes the gaps of those
that are left out; `pathlabels` turns paths into labels. `jsonshapes` tells JSON documents of records from
trees and from others, and `keynames` reads names from a second file.
"""
