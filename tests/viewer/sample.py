"""Makes sample data of a page: sample.py OUT.json [MODEL.onnx | synthetic LAYERS [open]]"""
import json, sys, collections, random

class G:
    def __init__(self):
        self.strings=['']; self.idx={'':0}
        self.ops=[]; self.opi={}
        self.nodes=[]; self.tensors=[]; self.ti={}
        self.cont=[]
    def s(self,t):
        if t not in self.idx: self.idx[t]=len(self.strings); self.strings.append(t)
        return self.idx[t]
    def op(self,name,cat):
        if name not in self.opi: self.opi[name]=len(self.ops); self.ops.append((name,cat))
        return self.opi[name]
    def tensor(self,name,kind=0,shape='1x128x768',dtype='float32',bytes=393216,value=-1):
        if name not in self.ti:
            self.ti[name]=len(self.tensors)
            self.tensors.append(dict(name=name,kind=kind,shape=shape,dtype=dtype,bytes=bytes,producer=-1,value=value))
        return self.ti[name]
    def node(self,op,cat,name,ins,outs,parent,kind=0):
        i=len(self.nodes)
        self.nodes.append(dict(op=self.op(op,cat),name=name,ins=ins,outs=outs,parent=parent,kind=kind))
        for t in outs:
            if t>=0: self.tensors[t]['producer']=i
        return i
    def container(self,kind,name,parent,node=-1,note=None,state=1):
        self.cont.append(dict(kind=kind,name=name,parent=parent,node=node,note=note,state=state,layout=None)); return len(self.cont)-1

CAT={'MatMul':'layer','Gemm':'layer','Conv':'layer','Relu':'activation','Softmax':'activation','Gelu':'activation','Tanh':'activation','Sigmoid':'activation','LayerNormalization':'normalization','BatchNormalization':'normalization','Add':'other','Mul':'other','Reshape':'shape','Transpose':'tensor','Concat':'tensor','Gather':'tensor','MaxPool':'pool','If':'control','Loop':'control','Constant':'constant'}

def layout(g):
    kids=collections.defaultdict(list)
    for i,n in enumerate(g.nodes):
        if n.get('hidden'): continue
        kids[n['parent']].append((0,i))
    for i,c in enumerate(g.cont):
        if c['parent']>=0: kids[c['parent']].append((1,i))
    cons=collections.defaultdict(list)
    for i,n in enumerate(g.nodes):
        for t in n['ins']:
            if t>=0: cons[t].append(i)
    def chain(n):
        out=[]; p=g.nodes[n]['parent']
        while p>=0: out.append(p); p=g.cont[p]['parent']
        return out
    def size(k,r):
        if k==0:
            n=g.nodes[r]; return max(90,min(180,7*len(g.ops[n['op']][0])+60, )),40
        c=g.cont[r]
        return 150,40
    # edges per container: (tensor, fromitem, toitem)
    edges=collections.defaultdict(set)
    for t,T in enumerate(g.tensors):
        if T['kind'] in (3,4): continue
        p=T['producer']
        for c in set(cons[t]):
            if p<0: continue
            cp=[('n',p)]+[('c',x) for x in chain(p)]
            cc=[('n',c)]+[('c',x) for x in chain(c)]
            sp={x for x in cp}
            common=next((x for x in cc[1:] if x in sp), None)
            if common is None: continue
            for i,x in enumerate(cp[1:]):
                if x==common:
                    fr=cp[i]; break
                edges[x[1]].add((t,cp[i],('out',t)))
            for i,x in enumerate(cc[1:]):
                if x==common:
                    to=cc[i]; break
                edges[x[1]].add((t,('in',t),cc[i]))
            if fr!=to: edges[common[1]].add((t,fr,to))
    def do(c):
        C=g.cont[c]
        for k,r in kids[c]:
            if k==1: do(r)
        items=[( 'n' if k==0 else 'c',r) for k,r in kids[c]]
        es=sorted(edges[c],key=lambda e:(e[0],str(e)))
        ports=[];
        for e in es:
            for x in e[1:]:
                if x[0] in('in','out') and x not in ports: ports.append(x)
        rank={x:0 for x in items}
        succ=collections.defaultdict(list); indeg=collections.Counter()
        for t,a,b in es:
            if a in rank and b in rank: succ[a].append(b); indeg[b]+=1
        q=[x for x in items if indeg[x]==0]
        while q:
            x=q.pop(0)
            for y in succ[x]:
                rank[y]=max(rank[y],rank[x]+1); indeg[y]-=1
                if indeg[y]==0:q.append(y)
        base=1 if any(p[0]=='in' for p in ports) else 0
        for x in rank: rank[x]+=base
        last=max(rank.values(),default=0)
        for p in ports: rank[p]=0 if p[0]=='in' else last+1
        rows=collections.defaultdict(list)
        for x in items+ports: rows[rank[x]].append(x)
        bendlists=[]
        for e in es:
            t,a,b=e; bl=[]
            for r in range(rank[a]+1,rank[b]):
                x=('b',t,len(bendlists),r); rows[r].append(x); bl.append(x)
            bendlists.append(bl)
        L=dict(card=[150,40],kind=[],ref=[],row=[],x=[],iw=[],ih=[],edges=[],y=[]); pos={}; yy=0; W=0
        nrows=max(rows,default=-1)+1
        info=[]
        for r in range(nrows):
            x0=0; hh=0
            for it in rows[r]:
                if it[0]=='n': k,ref=0,it[1]; w,h=size(0,ref)
                elif it[0]=='c': k,ref=1,it[1]; w,h=size(1,ref)
                elif it[0]=='b': k,ref=2,it[1]; w,h=0,0
                elif it[0]=='in': k,ref=3,it[1]; w,h=0,0
                else: k,ref=4,it[1]; w,h=0,0
                info.append((it,k,ref,r,x0+w/2,w,h)); x0+=w+20; hh=max(hh,h)
            W=max(W,x0-20); L['y'].append(yy); yy+=hh+30
        wid=collections.Counter()
        for it,k,ref,r,x,w,h in info: wid[r]=max(wid[r],x+w/2)
        for it,k,ref,r,x,w,h in info:
            pos[it]=len(L['kind']); L['kind'].append(k);L['ref'].append(ref);L['row'].append(r);L['x'].append(round(x+(W-wid[r])/2,1));L['iw'].append(w);L['ih'].append(h)
        for e,bl in zip(es,bendlists): L['edges'].append([e[0],pos[e[1]],pos[e[2]]]+[pos[b] for b in bl])
        L['w']=W; L['h']=max(0,yy-30)
        C['layout']=L
    for i,c in enumerate(g.cont):
        if c['parent']<0: do(i)

def synthetic(n_layers, state):
    g=G(); g.container(0,'main',-1)
    x=g.tensor('input',1,'1x128','int64',1024); g.node('input','input','input',[],[x],0,1)
    h=g.tensor('/emb/out'); w=g.tensor('emb.weight',3,'30522x768','float32',93763584); g.node('Gather','tensor','/emb/Gather',[w,x],[h],0)
    rep=g.container(2,'encoder.layer',0,note='encoder.layer.0 to encoder.layer.%d'%(n_layers-1),state=state)
    ce=0
    for l in range(n_layers):
        inst=g.container(3,'encoder.layer.%d'%l,rep,state=1)
        att=g.container(1,'attention',inst,state=1)
        P='/encoder/layer.%d/'%l
        def lin(name,src,par,shape='1x128x768'):
            wt=g.tensor(P+name+'.weight',3,'768x768','float32',2359296); m=g.tensor(P+name+'/mm',shape=shape); g.node('MatMul','layer',P+name+'/MatMul',[src,wt],[m],par)
            b=g.tensor(P+name+'.bias',3,'768','float32',3072); a=g.tensor(P+name+'/add',shape=shape); g.node('Add','other',P+name+'/Add',[m,b],[a],par); return a
        qq=lin('query',h,att); kk=lin('key',h,att); vv=lin('value',h,att)
        kt=g.tensor(P+'kt',shape='1x12x64x128'); g.node('Transpose','tensor',P+'attention/Transpose',[kk],[kt],att)
        sc=g.tensor(P+'scores',shape='1x12x128x128'); g.node('MatMul','layer',P+'attention/MatMul',[qq,kt],[sc],att)
        sm=g.tensor(P+'probs',shape='1x12x128x128'); g.node('Softmax','activation',P+'attention/Softmax',[sc],[sm],att)
        cx=g.tensor(P+'ctx'); g.node('MatMul','layer',P+'attention/MatMul_1',[sm,vv],[cx],att)
        o=lin('output',cx,inst)
        r=g.tensor(P+'res'); g.node('Add','other',P+'Add',[o,h],[r],inst)
        ln=g.tensor(P+'ln'); s1=g.tensor(P+'ln.scale',3,'768','float32',3072); g.node('LayerNormalization','normalization',P+'LayerNormalization',[r,s1],[ln],inst)
        f=lin('fc1',ln,inst,'1x128x3072'); ge=g.tensor(P+'gelu',shape='1x128x3072'); g.node('Gelu','activation',P+'Gelu',[f],[ge],inst)
        f2=lin('fc2',ge,inst); r2=g.tensor(P+'res2'); g.node('Add','other',P+'Add_1',[f2,ln],[r2],inst)
        h=r2
    logits=g.tensor('logits',2); g.node('MatMul','layer','/head/MatMul',[h,g.tensor('head.weight',3,'768x2')],[logits],0)
    g.node('logits','output','logits',[logits],[],0,2)
    return g

def from_onnx(path):
    import onnx
    m=onnx.load(path,load_external_data=False)
    try: m=onnx.shape_inference.infer_shapes(m)
    except Exception: pass
    g=G(); g.container(0,m.graph.name or 'graph',-1)
    shp={}
    for v in list(m.graph.value_info)+list(m.graph.input)+list(m.graph.output):
        shp[v.name]=('x'.join(str(d.dim_value) if d.dim_value else (d.dim_param or '?') for d in v.type.tensor_type.shape.dim), onnx.TensorProto.DataType.Name(v.type.tensor_type.elem_type).lower())
    inits={i.name for i in m.graph.initializer}
    for i in m.graph.initializer: g.tensor(i.name,3,'x'.join(map(str,i.dims)),'float32',4)
    def T(n,k=0):
        if n=='': return -1
        s=shp.get(n); return g.tensor(n,k,s[0] if s else None,s[1] if s else '',4096 if s else 0)
    for i in m.graph.input:
        if i.name not in inits: g.node(i.name,'input',i.name,[],[T(i.name,1)],0,1)
    outs={o.name for o in m.graph.output}
    for n in m.graph.node: g.node(n.op_type,CAT.get(n.op_type,'other'),n.name,[T(x) for x in n.input],[T(x,2 if x in outs else 0) for x in n.output],0)
    for o in m.graph.output: g.node(o.name,'output',o.name,[T(o.name,2)],[],0,2)
    return g

def write(g,out):
    layout(g)
    s=g.s
    def opt(v): return -1 if v is None or v==-1 else s(v)
    graph=dict(name=g.cont[0]['name'],kind='onnx',properties=[['producer','sample']],strings=None,
      op=dict(name=[s(o[0]) for o in g.ops],domain=[0]*len(g.ops),doc=[0]*len(g.ops),category=[o[1] for o in g.ops]),
      node=dict(op=[n['op'] for n in g.nodes],name=[s(n['name']) for n in g.nodes],parent=[n['parent'] for n in g.nodes],kind=[n['kind'] for n in g.nodes],inputs=[n['ins'] for n in g.nodes],outputs=[n['outs'] for n in g.nodes],w=[max(90,min(180,7*len(g.ops[n['op']][0])+60)) for n in g.nodes],h=[40]*len(g.nodes),members={}),
      tensor=dict(name=[s(t['name']) for t in g.tensors],dtype=[s(t['dtype']) for t in g.tensors],kind=[t['kind'] for t in g.tensors],shape=[opt(t['shape']) for t in g.tensors],declared=[-1]*len(g.tensors),seen=[-1]*len(g.tensors),producer=[t['producer'] for t in g.tensors],bytes=[t['bytes'] for t in g.tensors],value=[-1]*len(g.tensors)),
      container=dict(kind=[c['kind'] for c in g.cont],name=[s(c['name']) for c in g.cont],parent=[c['parent'] for c in g.cont],node=[c['node'] for c in g.cont],note=[opt(c['note']) for c in g.cont],state=[c['state'] for c in g.cont],layout=[c['layout'] for c in g.cont]))
    graph['strings']=g.strings
    rnd=random.Random(1)
    N=len(g.nodes); T=len(g.tensors)
    err=[(None if t['kind'] in (1,3,4) else 10**(-7+6*rnd.random()**2) if rnd.random()>.05 else 0.0) for t in g.tensors]
    live=[t for t in range(T) if g.tensors[t]['kind'] not in(1,3,4)]
    if len(live)>8:
        err[live[5]]='nan'; err[live[7]]='inf'
        for t in live[3:5]: err[t]=None
    tim=[None if n['kind'] else 10**(rnd.random()*3) for n in g.nodes]
    q=lambda **k: dict(dict(unit='',graph=0,of='node',scale='log',fold='max',better='low',names=[]),**k)
    res=dict(quantities=[q(id='maxabs',label='Max absolute error',group='accuracy',of='tensor',values=err),
      q(id='passed',label='Verdict',group='accuracy',of='tensor',scale='category',names=['fail','pass'],fold='min',values=[None if e is None else (0 if isinstance(e,str) or e>1e-3 else 1) for e in err]),
      q(id='time',label='Time',unit='us',group='time',fold='sum',values=tim),
      q(id='time_ratio',label='B / A',group='time',scale='diverging',fold='max',values=[None if n['kind'] else 2**(rnd.gauss(0,.5)) for n in g.nodes]),
      q(id='precision',label='Precision',group='type',scale='category',fold='same',names=['float32','float16','int8'],values=[None if n['kind'] else rnd.randrange(3) for n in g.nodes])],
      marks=[dict(graph=0,of='tensor',at=t,kind='fail',text='beyond tolerance') for t in live if err[t] is not None and (isinstance(err[t],str) or err[t]>1e-3)]+([dict(graph=0,of='tensor',at=live[5],kind='nan',text='NaN'),dict(graph=0,of='node',at=g.tensors[live[5]]['producer'],kind='first',text='first failing'),dict(graph=0,of='node',at=g.tensors[live[2]]['producer'],kind='precision',text='runs in float16')] if len(live)>8 else []),pairs=None,stats=[])
    head=dict(version=1,title=g.cont[0]['name'],generator='sample',command='polygraphy view',served=False,sources=[dict(kind='model',path='m.onnx',label='model')],graphs=[dict(name=graph['name'],kind='onnx',nodes=N,role='a')],verdict=None,summary=[],warnings=[],tables=[],blocks=['head','graph-0','results'])
    json.dump({'head':head,'graph-0':graph,'results':res},open(out,'w'))
    print(N,'nodes')
if __name__=='__main__':
    if sys.argv[2]=='synthetic': g=synthetic(int(sys.argv[3]), 1 if len(sys.argv)>4 else 2)
    else: g=from_onnx(sys.argv[2])
    write(g,sys.argv[1])
