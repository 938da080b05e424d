# SPDX-License-Identifier: Apache-2.0
"""Objects of LFS beside a bare repository, as Gitea has them: the answer to a
batch gives back the Authorization that came with it."""
import json
import os


def _object(repository, oid):
    return os.path.join(repository, 'lfs', oid)


def _batch(repository, req):
    ask = json.loads(req.body)
    base = 'https://%s%s' % (req.field('host'),
                             req.target[:-len('/objects/batch')])
    header = {'Authorization': req.field('authorization') or 'none'}
    objects = []
    for item in ask['objects']:
        there = os.path.exists(_object(repository, item['oid']))
        href = '%s/objects/%s' % (base, item['oid'])
        actions = {}
        if ask['operation'] == 'download' and there:
            actions = {'download': {'href': href, 'header': header}}
        elif ask['operation'] == 'upload' and not there:
            actions = {'upload': {'href': '%s/%d' % (href, item['size']),
                                  'header': header},
                       'verify': {'href': base + '/verify',
                                  'header': header}}
        objects.append({**item, 'actions': actions})
    return json.dumps({'transfer': 'basic', 'objects': objects}).encode()


def serve(conn, req, root):
    """Answer a request below info/lfs/ of a repository below root."""
    name, _, what = req.target.partition('/info/lfs/')
    repository = root + name
    os.makedirs(repository + '/lfs', exist_ok=True)
    path = _object(repository, (what.split('/') + [''])[1])
    status, content = '200 OK', b''
    if what == 'objects/batch':
        content = _batch(repository, req)
    elif what == 'verify':
        size = os.path.getsize(_object(repository, json.loads(req.body)['oid']))
        if size != json.loads(req.body)['size']:
            status = '404 Not Found'
    elif req.method == 'PUT':
        with open(path, 'wb') as f:
            f.write(req.body)
    elif req.method == 'GET' and os.path.isfile(path):
        with open(path, 'rb') as f:
            content = f.read()
    else:
        status = '404 Not Found'
    conn.send(('HTTP/1.1 %s\r\nContent-Type: application/vnd.git-lfs+json\r\n'
               'Content-Length: %d\r\n\r\n' % (status, len(content))).encode())
    conn.send(content)
